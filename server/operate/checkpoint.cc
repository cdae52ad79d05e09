#include "server/operate/checkpoint.h"

#include <cmath>
#include <filesystem>

#include "server/operate/checkpoint_directory.h"
#include "server/operate/checkpoint_files.h"
#include "server/operate/failpoint.h"
#include "shared/core/check.h"
#include "shared/model/files.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

Status WriteSynced(const std::string& path, std::string_view bytes) {
  Failpoint("before-write");
  NewFile file(path);
  MURMURATE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  Failpoint("after-write");
  Failpoint("before-fsync");
  MURMURATE_RETURN_IF_ERROR(file.Sync());
  Failpoint("after-fsync");
  return {};
}

class FolderInMaking {
 public:
  FolderInMaking(std::string path, const Checkpoint& checkpoint) : path_(std::move(path)) {
    manifest_.step = checkpoint.weights.steps;
    manifest_.spec = ToHex(checkpoint.weights.spec.Hash());
  }
  Status Add(const char* name, const std::string& bytes) {
    manifest_.files[name] = {bytes.size(), ToHex(Sha256(bytes))};
    return WriteSynced(path_ + '/' + name, bytes);
  }
  Status Seal() {
    Failpoint("before-manifest");
    MURMURATE_RETURN_IF_ERROR(WriteSynced(path_ + '/' + kManifestName, FormatManifest(manifest_)));
    Failpoint("after-manifest");
    return SyncFolder(path_);
  }

 private:
  const std::string path_;
  Manifest manifest_;
};

Status WriteFiles(const std::string& making, const Checkpoint& checkpoint) {
  if (!fs::create_directory(making)) return ResourceError(making + ": cannot be made");
  FolderInMaking folder(making, checkpoint);
  MURMURATE_RETURN_IF_ERROR(
      folder.Add(kWeightsName, FormatWeightsFile(checkpoint.weights, /*published_only=*/false)));
  MURMURATE_RETURN_IF_ERROR(folder.Add(kOptimizerName, FormatOptimizer(checkpoint.state)));
  MURMURATE_RETURN_IF_ERROR(folder.Add(kStateName, FormatState(checkpoint)));
  return folder.Seal();
}

/// Checks, now that it has its name, that all is as it was written.
Status Verify(const std::string& target, const Checkpoint& checkpoint) {
  auto read = ReadCheckpoint(target);
  if (!read.ok())
    return ResourceError("read back after writing: " + read.status().message() +
                         "; check the disk");
  if (read->weights.version == checkpoint.weights.version) return {};
  return ResourceError(target + ": another process wrote it at the same time; end that one");
}

/// Afterwards `making` holds what was at `target` before, if anything was.
Status PutInPlace(const std::string& making, const std::string& target,
                  const Checkpoint& checkpoint) {
  // guard: KilledWriter.AtEveryFailpointLeavesThePreviousOrTheNew: a checkpoint gets its name when
  //   all of it is there
  const bool taken = fs::exists(fs::symlink_status(target));
  Failpoint("before-rename");
  MURMURATE_RETURN_IF_ERROR(taken ? SwapPaths(making, target) : RenamePath(making, target));
  Failpoint("after-rename");
  Failpoint("before-folder-fsync");
  Status status = SyncFolder(fs::path(target).parent_path());
  Failpoint("after-folder-fsync");
  if (status.ok()) status = Verify(target, checkpoint);
  if (status.ok()) return status;
  (void)(taken ? SwapPaths(making, target) : RenamePath(target, making));
  return status;
}

bool IsThere(const std::string& target, const Checkpoint& checkpoint) {
  if (!fs::is_directory(fs::symlink_status(target))) return false;
  const auto read = ReadCheckpoint(target);
  return read.ok() && read->weights.version == checkpoint.weights.version &&
         read->weights.spec == checkpoint.weights.spec && read->state == checkpoint.state;
}

/// Writes it among the checkpoints by this name, in the place of what may have it.
Status WriteAs(const std::string& checkpoints, const std::string& name,
               const Checkpoint& checkpoint) {
  const std::string target = checkpoints + '/' + name,
                    making = checkpoints + '/' + kUnfinished + name;
  Status status = WriteFiles(making, checkpoint);
  if (status.ok()) status = PutInPlace(making, target, checkpoint);
  SweepUnfinished(checkpoints);
  return status;
}

Result<std::string> WriteLocked(const std::string& checkpoints, const Checkpoint& checkpoint) {
  const std::string name = StepName(checkpoint.weights.steps);
  // guard: KilledWriter.AtEveryFailpointLeavesThePreviousOrTheNew,
  //   KilledWriter.AtRandomMomentsLeavesThePreviousOrTheNew: what a killed writer left is deleted
  SweepUnfinished(checkpoints);
  if (!IsThere(checkpoints + '/' + name, checkpoint))
    MURMURATE_RETURN_IF_ERROR(WriteAs(checkpoints, name, checkpoint));
  MURMURATE_RETURN_IF_ERROR(PointLink(checkpoints, "latest", name));
  return checkpoints + '/' + name;
}

Result<std::string> KeepLocked(const std::string& checkpoints, const Checkpoint& checkpoint,
                               const LogCallback& log) {
  std::string name = BestName(checkpoint.weights.steps);
  SweepUnfinished(checkpoints);
  const auto held = ReadBestCheckpoint(fs::path(checkpoints).parent_path(), log);
  // guard: BestCheckpoint.IsTheOneThatCameToMostAndAloneAndNoneThatARunGoesOnFrom: only better
  //   weights replace the best ones
  if (held.ok() && !Beats(*checkpoint.evaluated, *held->checkpoint.evaluated)) {
    name = fs::path(held->folder).filename();
  } else {
    MURMURATE_RETURN_IF_ERROR(WriteAs(checkpoints, name, checkpoint));
  }
  MURMURATE_RETURN_IF_ERROR(PointLink(checkpoints, "best", name));
  MURMURATE_RETURN_IF_ERROR(SyncFolder(checkpoints));
  for (const std::uint64_t step : BestSteps(checkpoints))
    if (BestName(step) != name)
      MURMURATE_RETURN_IF_ERROR(DeleteCheckpoint(checkpoints, BestName(step)));
  return checkpoints + '/' + name;
}

Status CheckFinite(const Checkpoint& checkpoint) {
  for (const float value : checkpoint.weights.parameters)
    if (!std::isfinite(value))
      return InvalidData(
          "the weights of step " + std::to_string(checkpoint.weights.steps) +
          " hold a number that is not finite, so they are not saved; the last checkpoint stays: "
          "lower optimizer.learning_rate");
  return {};
}

/// Writes a checkpoint of either kind while holding the lock on the checkpoints.
template <typename Write>
Result<std::string> UnderLock(const std::string& directory, const Checkpoint& checkpoint,
                              const Write& write) try {
  MURMURATE_RETURN_IF_ERROR(CheckFinite(checkpoint));
  const std::string checkpoints = directory + "/checkpoints";
  fs::create_directories(checkpoints);
  auto lock = CheckpointLock::Acquire(checkpoints);
  if (!lock.ok()) return lock.status();
  return write(checkpoints);
} catch (const fs::filesystem_error& error) {
  return ResourceError(FileSentence("make", error.path1().string(), error.code().value()));
}

}  // namespace

bool Beats(const EvaluatedReturn& later, const EvaluatedReturn& earlier) {
  return later.settings != earlier.settings || later.mean_return > earlier.mean_return;
}

Result<std::string> WriteCheckpoint(const std::string& directory, const Checkpoint& checkpoint) {
  return UnderLock(directory, checkpoint, [&](const std::string& checkpoints) {
    return WriteLocked(checkpoints, checkpoint);
  });
}

Result<std::string> KeepBest(const std::string& directory, const Checkpoint& checkpoint,
                             const LogCallback& log) {
  MURMURATE_CHECK(checkpoint.evaluated.has_value(), "a best checkpoint says what it came to");
  return UnderLock(directory, checkpoint, [&](const std::string& checkpoints) {
    return KeepLocked(checkpoints, checkpoint, log);
  });
}

}  // namespace murmurate
