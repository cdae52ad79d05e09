// ResumePlan: what a run directory holds of a run that can go on: its models with their newest good
// checkpoints, where it listened, and what started it.
//
//   resume.json   {"models": ["default", ...],    in the order they were made; the files of the
//                                                 first one lie in the run's own folder
//                  "listen": ["tcp://127.0.0.1:7420", ...],
//                  "actors": "train" | "attached"}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/config/model_settings.h"
#include "server/operate/checkpoint.h"

namespace murmurate {

/// resume.json, which the daemon keeps true.
struct RunRecord {
  std::vector<std::string> models;
  std::vector<std::string> listen;  ///< as really bound
  bool own_actors = false;          ///< `train` started them, and must start them again

  std::string ToJson() const;
  /// kInvalidData when it is missing or cannot be read.
  static Result<RunRecord> Read(const std::string& directory);
};

struct ResumedModel {
  std::string name;
  FoundCheckpoint found;
  ModelSettings settings;
};

struct ResumePlan {
  RunRecord record;
  std::vector<ResumedModel> models;
};

/// The newest checkpoint of each model that verifies and holds all a learner knows; those passed
/// over are warnings. kInvalidData in one sentence when there is none, or when `config` makes
/// another model than it holds.
Result<ResumePlan> ReadResumePlan(const std::string& directory, const Config& config,
                                  const LogCallback& log);

/// Over is what a run says that has nothing left to do, and the exit code it ended with.
struct Over {
  std::string sentence;
  int code = 0;
};
/// Decides by the run's stop rules, its passes over files and what its first model has come to;
/// empty: it can go on.
std::optional<Over> AlreadyOver(const ResumePlan& plan, const Config& config);

/// Warnings and errors to stderr, before there is a log.
LogCallback LoudOnStderr();

/// The folder of a model in a run: the run's own for the first one.
std::string ModelFolderOf(const std::string& directory, const std::string& model, bool first);

}  // namespace murmurate
