// Checkpoint: everything a model and its learner know at one batch border, as files that other
// tools open.
//
//   checkpoints/step-000000123456/weights.safetensors    the model; policy, value, statistics
//                                 optimizer.safetensors  every array of floats of the SavedState
//                                 state.json             its doubles and words, steps, version
//                                 MANIFEST.json          size and SHA-256 of each, and of itself
//   checkpoints/latest -> step-000000123456              for people; what is newest is the number
//   checkpoints/best-step-000000120000/...               weights alone: those that evaluated best
//   checkpoints/best -> best-step-000000120000           for people, too
//
// Writing: into .tmp-*, each file synced, the manifest synced, the folder synced, renamed, the
// parent synced, read back and verified. Whenever the process dies, the one before or the new one
// can be read. Reading: no byte is used before its sum is verified; links inside are not followed.
// Numbers in state.json are strings: words in decimal (JSON numbers of other tools end at 2^53),
// doubles in the shortest digits that read back to the same bits, also inf and nan:BITS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/experience/step_count.h"
#include "shared/model/state.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// An EvaluatedReturn is the mean return of weights without exploration, and the games' settings it
/// was played under.
struct EvaluatedReturn {
  double mean_return = 0;
  std::map<std::string, double> settings = {};
  bool operator==(const EvaluatedReturn&) const = default;
};

/// True if the weights of the later evaluation replace the kept ones: they reached more under the
/// same settings, or played under others. Returns under different settings cannot be compared, and
/// by their returns alone the easy beginning of a curriculum would stay the best for ever.
bool Beats(const EvaluatedReturn& later, const EvaluatedReturn& earlier);

struct Checkpoint {
  WeightsFile weights;
  SavedState state = {};                          ///< empty: weights only
  std::optional<double> mean_return = {};         ///< of training, when it was written
  std::optional<EvaluatedReturn> evaluated = {};  ///< of a best one
  /// The run's settings, for readers of state.json: "algorithm.name" -> "\"ppo\"".
  std::map<std::string, std::string> settings = {};
  /// That actors had taken; weights.steps, the checkpoint's number, are those learned from. 0: not
  /// known.
  std::uint64_t environment_steps = 0;
  StepCount steps() const { return {weights.steps, std::max(weights.steps, environment_steps)}; }
};

/// `directory`: the run's (or the model's) folder. Gives the checkpoint's folder. One of the same
/// step and version is kept when it verifies; otherwise the new one takes its place. Sweeps what a
/// dead process left. kResource with path, errno's words and a remedy; nothing older is touched.
/// Any thread; two writers of one directory wait for each other.
Result<std::string> WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint);

/// `folder`: checkpoints/step-..., or a link to one. kInvalidData names the file, what was found
/// and what was expected.
Result<Checkpoint> ReadCheckpoint(const std::string& folder);

/// FileVerdict says whether a checkpoint's file is there and has its size and sum; manifest first.
struct FileVerdict {
  std::string name;
  std::uint64_t size = 0;
  Status status = {};
};
std::vector<FileVerdict> VerifyFiles(const std::string& folder);

struct FoundCheckpoint {
  Checkpoint checkpoint;
  std::string folder;
};
/// The newest by step number that verifies; each newer one that does not is a warning. When there
/// is none, the status names all that was wrong.
Result<FoundCheckpoint> ReadNewestCheckpoint(const std::string& directory, const LogCallback& log);

/// Writes weights that say what they were `evaluated` to (a finite number) as WriteCheckpoint does,
/// as checkpoints/best-step-..., unless the one that is there stays the better one. `best`
/// names the better of the two, and the other is deleted when that is verified. Gives the folder of
/// the best. No run goes on from it by that name, `latest` does not name it, and it takes no place
/// in Retention. `log` is told when one that was there does not verify.
Result<std::string> KeepBest(const std::string& directory, const Checkpoint& checkpoint,
                             const LogCallback& log);
/// The best that verifies, whatever the link says; what does not is a warning. When there is none,
/// the status names all that was wrong.
Result<FoundCheckpoint> ReadBestCheckpoint(const std::string& directory, const LogCallback& log);

/// Retention says what stays: the newest `keep`, and the first at or after each multiple of
/// `keep_every` (0: none).
struct Retention {
  int keep = 3;
  std::uint64_t keep_every = 0;
};
/// Deletes what need not stay, of the steps before `written`, which WriteCheckpoint has just
/// verified; a half-deleted one never keeps its name.
Status PruneCheckpoints(const std::string& directory, const Retention& retention,
                        std::uint64_t written);

/// Says in one sentence why a checkpoint cannot go on as this spec's model: the first difference.
Status CheckSameModel(const FoundCheckpoint& found, const ModelSpec& spec);

/// The steps that have a folder, ascending; whether they verify is not asked.
std::vector<std::uint64_t> CheckpointSteps(const std::string& directory);
/// checkpoints/step-000000123456 of `directory`.
std::string CheckpointFolder(const std::string& directory, std::uint64_t step);

}  // namespace murmurate
