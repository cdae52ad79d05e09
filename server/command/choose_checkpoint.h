// Finds the run or checkpoint that a person means by RUN or CHECKPOINT on the command line.
#pragma once

#include <string>

#include "server/command/command_line.h"
#include "server/operate/checkpoint.h"

namespace murmurate {

struct CheckpointSource {
  std::string run;     ///< the run's folder, "" for a checkpoint that lies in none
  std::string folder;  ///< the one checkpoint that was named, "" when the run was
};
/// `name`: a run (a folder, or a name under run.dir), or a checkpoint's folder or link.
Result<CheckpointSource> FindCheckpointSource(const CommonArguments& common,
                                              const std::string& name);

/// The one that was named, the run's best, or its newest; what is skipped is said on stderr.
/// `best_option`: how the command asks for the best one.
Result<FoundCheckpoint> ChooseCheckpoint(const CheckpointSource& source, bool best,
                                         const std::string& best_option = "--best");

inline constexpr char kNewestCheckpoint[] = "newest";
/// The same, by the word of an option --checkpoint: kNewestCheckpoint, its default, "best", or the
/// name of a folder in the run's checkpoints. kInvalidArgument: the last two where `source` is one
/// checkpoint already.
Result<FoundCheckpoint> ChooseCheckpointNamed(const CheckpointSource& source,
                                              const std::string& which);

}  // namespace murmurate
