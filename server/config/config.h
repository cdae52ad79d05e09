// Config: what a run is told: TOML text and --set, checked against the keys of all rooms.
//
// Precedence: --set (and shortcuts like --seed) over environment variables
// (environment_overrides.h) over the file over the default. [model.NAME],
// [model.NAME.algorithm] and [model.NAME.optimizer] override [model], [algorithm], [optimizer] for
// the model of that name; [stream.NAME] describes the model of its name
// (server/stream/config_stream.h). Every error is one sentence: file:line, key, got, expected, what
// to do.
//
// A room's settings are read with the room's keys: config.Read(ServerKeys()). The types that are
// only named here are in the rooms' headers, which a file that asks for one includes. The settings
// of one model, which come from several sections, are in model_settings.h.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/config/run_settings.h"
#include "server/schema/config_reader.h"

namespace murmurate {

struct CheckpointSettings;
struct DataSettings;
struct EnvironmentOptions;
struct EvaluationSettings;
struct GameSetting;
struct ParametersSettings;
struct RecordingSettings;
struct ServerSettings;
struct StreamSettings;

/// All keys that there are.
const ConfigSchema& Schema();

/// `name` is a path (it contains a slash, ends in .toml, or is a file here), the name of an example,
/// or "-": standard input, read to its end; relative paths in it start at the working folder.
Result<ConfigSource> FindConfig(const std::string& name);

/// The port of shard 0 on 127.0.0.1 where nothing else is said; shard i has kShardPort + i.
inline constexpr int kShardPort = 7430;

class Config {
 public:
  /// `overrides`: each holds over those before it.
  static Result<Config> Load(const ConfigSource& source,
                             const std::vector<ConfigOverride>& overrides);
  /// Listens on one private ipc endpoint, whatever the file says: what `train` does.
  void ListenPrivately();
  /// Makes this learner number 0 of run.learners around shards at these addresses: it takes its
  /// share of run.actors and run.steps. The status: what does not suit that.
  Status LeadCluster(const std::vector<std::string>& shards);
  /// Of a config whose run.learners or run.shards say how many processes share one model, started
  /// one by one and not by `train`: names the shards at fixed addresses of this host (kShardPort
  /// and the ports after it), unless parameters.shards does. Does nothing under mode = "server".
  Status NameShards();
  /// Writes these addresses into the config of which NameShards will be asked, and checks them.
  Status NameShardsAt(const std::vector<std::string>& addresses);
  /// Makes this process learner number `worker` of them: with its share of run.actors and
  /// run.steps, a seed and a name of its own. Under mode = "server" only the number is set.
  Status JoinCluster(int worker);
  /// Makes this learner rank `rank` of `size`: its share of run.actors and run.steps; but for rank
  /// 0, whose files lie in `directory`, also a seed and a folder of its own there, and neither
  /// rules to stop nor evaluations.
  void ShareWork(int rank, int size, const std::string& directory);

  const ConfigEntries& entries() const { return entries_; }
  /// The models with a section of their own, and "": all others.
  std::set<std::string> models() const;
  /// The settings of a room as they hold for a model; "": in general.
  template <typename S>
  S Read(const Keys<S>& keys, const std::string& model = "") const {
    return keys.Read(keys.View(entries_, model));
  }

  const RunSettings& run() const { return run_; }
  EnvironmentOptions environment_options() const;
  ServerSettings server() const;
  CheckpointSettings checkpoint() const;
  EvaluationSettings evaluation() const;
  /// [settings], in the order of their names.
  std::vector<GameSetting> game_settings() const;
  /// [data]; given() when there are files to learn from. Of a rank that follows, passes never end.
  DataSettings data() const;
  RecordingSettings recording() const;  ///< [record]; no folder: nothing is recorded
  ParametersSettings parameters() const;
  /// [stream.NAME], in the order of their names.
  const std::vector<StreamSettings>& streams() const { return *streams_; }
  /// The stream whose model this is; null: no stream's.
  const StreamSettings* StreamOf(const std::string& model) const;

 private:
  Status ReadStreams();

  ConfigEntries entries_;
  RunSettings run_;
  std::shared_ptr<const std::vector<StreamSettings>> streams_;
};

}  // namespace murmurate
