// FindLearner: which live learner or shard a command means, and questions to it.
#pragma once

#include <string>

#include "murmurate/status.h"
#include "server/command/command_line.h"

namespace murmurate {

/// A shard answers the same questions.
struct FoundLearner {
  std::string name, admin;
  int pid = 0;
  std::string folder = {};  ///< "" when only its process is known
};

inline constexpr int kAnswerMs = 2000;  ///< how long a question waits

/// The learner of RUN, a path or a name under run.dir. "": the one learner that runs, or of several
/// the one whose run lies in run.dir; shards are meant only where no learner runs.
Result<FoundLearner> FindLearner(const CommonArguments& common, const std::string& run);

/// Asks, and says in words that tell a busy learner from one that is gone what became of it:
/// kUnavailable where there was no answer.
Result<std::string> Ask(const FoundLearner& learner, const std::string& question);

/// "runs/serve: alive (lock held by process 71), busy: ..." of one that is there and has not
/// answered; "" when it is gone.
std::string Busy(const FoundLearner& learner);

/// The process is there.
bool Lives(int pid);

}  // namespace murmurate
