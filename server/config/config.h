// Config: what a run is told: TOML text and --set, checked against the one table of keys.
//
// Precedence: --set (and shortcuts like --seed) over the file over the default. [model.NAME],
// [model.NAME.algorithm] and [model.NAME.optimizer] override [model], [algorithm], [optimizer] for
// the model of that name; [stream.NAME] describes the model of its name (config_stream.h). Every
// error is one sentence: file:line, key, got, expected, what to do.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/environments/environment.h"
#include "murmurate/status.h"
#include "server/config/initial_weights.h"
#include "server/config/training_data.h"
#include "server/data/segment_writer.h"
#include "server/learn/algorithm.h"
#include "server/learn/game_settings.h"
#include "server/learn/learner.h"
#include "server/operate/checkpoint.h"
#include "server/parameters/hogwild_store.h"
#include "server/parameters/remote_store.h"
#include "server/schema/config_reader.h"
#include "server/schema/model_words.h"
#include "server/stream/config_stream.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// `name` is a path (it contains a slash, ends in .toml, or is a file here) or the name of an
/// example.
Result<ConfigSource> FindConfig(const std::string& name);

/// From the seed of one of several learners to the next one's.
inline constexpr std::uint64_t kSeedStride = 1000;

struct RunSettings {
  std::string name, dir, environment;
  EnvironmentOptions environment_options;  ///< [environment]
  std::uint64_t seed = 1;
  int actors = 2, agents = 2;    ///< this learner's share of the actors
  int learners = 1, shards = 0;  ///< that `train` starts
  std::optional<std::uint64_t> steps, stop_at_steps;
  std::optional<double> stop_at_return;
  double log_interval_s = 5.0;
  int rank = 0, ranks = 1;  ///< of a job that mpirun started

  /// Rank 1 and up: the run ends as rank 0 says, and by nothing else.
  bool follows() const { return rank > 0; }
  /// Where the run ends; UINT64_MAX where its steps do not say it.
  std::uint64_t most_steps() const;
};

struct ServerSettings {
  std::vector<std::string> listen;
  std::string shm;
  std::uint64_t ingest_budget_bytes = 0;
  int max_actors = 0;
  bool insecure = false;
};

struct CheckpointSettings {
  std::uint64_t every_steps = 0;  ///< 0: not by steps
  double every_s = 60.0;          ///< 0: not by time
  Retention retention;
};

/// The learner's own, of models that play run.environment.
struct EvaluationSettings {
  int episodes = 100;
  double every = 0.05;  ///< of run.steps; 0: never
};

/// Everything that makes a model of given spaces and teaches it.
struct ModelSettings {
  ModelSpec spec;
  AlgorithmSettings algorithm;
  double max_trajectory_s = 5.0, max_batch_s = 10.0, quorum = 1.0;
  int batches_ahead = 2;
  Initialization beginning;
  InitialFile initial_file;
  std::optional<RemoteSettings> remote;    ///< of a worker of a parameter server
  std::optional<HogwildSettings> hogwild;  ///< of threads that step one block of parameters
};

class Config {
 public:
  static Result<Config> Load(const ConfigSource& source,
                             const std::vector<ConfigOverride>& overrides);
  /// Listens on one private ipc endpoint, whatever the file says: what `train` does.
  void ListenPrivately();
  /// The file or an argument says it; otherwise it has its default.
  bool Says(const std::string& section, const std::string& key, const std::string& model) const {
    return Get(section, key, model).origin != "default";
  }
  /// Makes this learner number 0 of run.learners around shards at these addresses: it takes its
  /// share of run.actors and run.steps. The status: what does not suit that.
  Status LeadCluster(const std::vector<std::string>& shards);
  /// Makes this learner rank `rank` of `size`: its share of run.actors and run.steps; but for rank
  /// 0, whose files lie in `directory`, also a seed and a folder of its own there, and neither
  /// rules to stop nor evaluations.
  void ShareWork(int rank, int size, const std::string& directory);

  const RunSettings& run() const { return run_; }
  const ServerSettings& server() const { return server_; }
  const CheckpointSettings& checkpoint() const { return checkpoint_; }
  const EvaluationSettings& evaluation() const { return evaluation_; }
  /// [settings], in the order of their names.
  std::vector<GameSetting> game_settings() const;
  /// [data]; given() when there are files to learn from. Of a rank that follows, passes never end.
  DataSettings data() const;
  RecordingSettings recording() const;  ///< [record]; no folder: nothing is recorded
  /// For the model an actor named; the status says where in the config lies what does not suit
  /// these spaces.
  Result<ModelSettings> ModelFor(const std::string& model, const Spaces& spaces) const;
  /// [stream.NAME], in the order of their names.
  const std::vector<StreamSettings>& streams() const { return streams_; }
  /// The stream whose model this is; null: no stream's.
  const StreamSettings* StreamOf(const std::string& model) const;
  Result<ModelSettings> ModelForStream(const StreamSettings& stream) const;
  /// What initialize_from names, of the models in general and of those with a section of their own.
  std::vector<InitialFile> initial_files() const;
  /// [parameters] mode = "server": this learner is a worker of the shards.
  bool shares_parameters() const;
  /// [parameters] rule = "hogwild": several threads of this learner step one block.
  std::optional<HogwildSettings> hogwild() const;
  std::vector<std::string> shards() const;
  /// "mpi" or "nccl": this learner is a rank of a job; "": it is none.
  std::string collective() const;
  /// What a shard and its workers must have in common; `model` "": in general.
  ShardSettings shard_settings(const std::string& model = "") const;
  /// `model` "": of all that name none of their own.
  const std::string& AlgorithmNameFor(const std::string& model = "") const;

  /// Effective value and where it comes from, by "section.key" in the order of the table.
  struct Line {
    std::string path, value, origin, meaning;
  };
  std::vector<Line> Explain() const;
  /// TOML that loads to the same configuration.
  std::string Resolved() const;

 private:
  const ConfigEntry& Get(const std::string& section, const std::string& key,
                         const std::string& model = "") const;
  /// Where what Get gives stands: [model.NAME] or the general section.
  std::string PlaceOf(const std::string& section, const std::string& key,
                      const std::string& model) const;
  /// "game.toml:3: model.layers: " of the key without which the model could be made; when there is
  /// no such one, of the last that is set; "" when none is.
  std::string Blame(const std::string& model, const Spaces& spaces) const;
  Schedule ScheduleOf(const std::string& section, const std::string& key,
                      const std::string& model) const;
  InitialFile InitialFileFor(const std::string& model) const;
  const AlgorithmKind& KindFor(const std::string& model = "") const;
  const ConfigEntry* Written(const std::string& key, const std::string& model) const;
  ModelWords WordsFor(const std::string& model) const;
  AlgorithmSettings AlgorithmFor(const std::string& model) const;
  Status CheckSchedules(const std::string& model) const;
  Status CheckRecurrence(const std::string& model) const;
  Status CheckBatch(const std::string& model) const;
  Status CheckThreads(const std::string& model) const;
  Status CheckBurnIn(const std::string& model) const;
  Status CheckRewards(const std::string& model) const;
  Status CheckAlgorithm(const std::string& model) const;
  Status CheckListen() const;
  Status CheckListenAddress(const std::string& address) const;
  Status CheckEnvironment() const;
  Status CheckSettings() const;
  Status CheckSchedule(const ConfigEntry& entry, const std::string& path) const;
  Schedule ToSchedule(const ConfigSchedule& written) const;
  Status CheckData() const;
  FeedPart FilesPart() const;
  Status CheckParameters() const;
  Status CheckShards() const;
  Status CheckRuleOf(const std::string& model) const;
  Status CheckHogwild() const;
  Status CheckPlainSteps(const std::string& model) const;
  Status CheckCollective() const;
  RemoteSettings RemoteFor(const std::string& model) const;
  Status CheckRefusals(const std::string& model) const;
  Status CheckModels() const;
  Status ReadStreams();
  Status CheckStream(const StreamSettings& stream) const;
  Status CheckStreamListens(const StreamSettings& stream) const;
  void ListenForStreamsAlone();
  void Settle(const std::string& stem);
  void SettleAlgorithm(const std::string& model);

  ConfigEntries entries_;
  RunSettings run_;
  ServerSettings server_;
  CheckpointSettings checkpoint_;
  EvaluationSettings evaluation_;
  std::vector<StreamSettings> streams_;
};

}  // namespace murmurate
