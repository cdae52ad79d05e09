#include "server/operate/checkpoint_shelf.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <vector>

#include "server/operate/checkpoint.h"
#include "server/operate/failpoint.h"
#include "shared/core/check.h"
#include "shared/model/files.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step-";

/// What `best` names, if it names a step.
std::optional<std::uint64_t> BestStep(const std::string& shelf) {
  std::error_code error;
  return StepOf(fs::read_symlink(shelf + "/best", error).string());
}

/// Of `steps`, ascending, the last of which is the newest.
std::set<std::uint64_t> WhatStays(const std::vector<std::uint64_t>& steps,
                                  const Retention& retention) {
  std::set<std::uint64_t> stays;
  const auto keep = static_cast<std::size_t>(retention.keep);
  for (std::size_t i = steps.size() - std::min(steps.size(), keep); i < steps.size(); ++i)
    stays.insert(steps[i]);
  if (retention.keep_every == 0) return stays;
  std::uint64_t multiple = 0;
  for (const std::uint64_t step : steps) {
    if (step / retention.keep_every > multiple) stays.insert(step);
    multiple = std::max(multiple, step / retention.keep_every);
  }
  return stays;
}

/// Loses its name first, so that a half-deleted one is only swept.
Status Delete(const std::string& shelf, std::uint64_t step) {
  const std::string doomed = shelf + '/' + kUnfinished + "delete-" + StepName(step);
  Failpoint("before-delete");
  MURMURATE_RETURN_IF_ERROR(RenamePath(shelf + '/' + StepName(step), doomed));
  Failpoint("in-delete");
  std::error_code error;
  fs::remove_all(doomed, error);
  if (error) return ResourceError(FileSentence("delete", doomed, error.value()));
  Failpoint("after-delete");
  return {};
}

}  // namespace

std::string StepName(std::uint64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kPrefix) + std::string(12 - std::min<std::size_t>(12, digits.size()), '0') +
         digits;
}

std::optional<std::uint64_t> StepOf(std::string_view name) {
  std::uint64_t step = 0;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto [end, error] =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  if (error != std::errc() || StepName(step) != name) return std::nullopt;
  return step;
}

Result<ShelfLock> ShelfLock::Take(const std::string& shelf) {
  const int fd = open(shelf.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ResourceError(FileSentence("open", shelf, errno));
  ShelfLock lock(fd);
  int outcome = 0;
  do {
    outcome = flock(fd, LOCK_EX);
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0) return ResourceError(FileSentence("lock", shelf, errno));
  return lock;
}

ShelfLock::ShelfLock(ShelfLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

ShelfLock::~ShelfLock() {
  if (fd_ >= 0) close(fd_);
}

void SweepUnfinished(const std::string& shelf) {
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator entry(shelf, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(kUnfinished))
      unfinished.push_back(entry->path());
  for (const fs::path& path : unfinished) fs::remove_all(path, error);
}

Status PointLink(const std::string& shelf, const std::string& link, const std::string& name) {
  const std::string making = shelf + '/' + kUnfinished + link;
  unlink(making.c_str());
  if (symlink(name.c_str(), making.c_str()) != 0)
    return ResourceError(FileSentence("make the link", making, errno));
  return RenamePath(making, shelf + '/' + link);
}

Status RenamePath(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return {};
  return ResourceError(FileSentence("put in place", to, errno));
}

Status SwapPaths(const std::string& one, const std::string& other) {
  if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS)
    return ResourceError(FileSentence("put in place", other, errno));
  const std::string aside = one + ".aside";
  MURMURATE_RETURN_IF_ERROR(RenamePath(other, aside));
  MURMURATE_RETURN_IF_ERROR(RenamePath(one, other));
  return RenamePath(aside, one);
}

std::string CheckpointFolder(const std::string& directory, std::uint64_t step) {
  return directory + "/checkpoints/" + StepName(step);
}

std::vector<std::uint64_t> CheckpointSteps(const std::string& directory) {
  std::error_code error;
  std::vector<std::uint64_t> steps;
  for (fs::directory_iterator entry(directory + "/checkpoints", error), end; !error && entry != end;
       entry.increment(error))
    if (const auto step = StepOf(entry->path().filename().string())) steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status PruneCheckpoints(const std::string& directory, const Retention& retention,
                        std::uint64_t written) {
  const std::string shelf = directory + "/checkpoints";
  auto lock = ShelfLock::Take(shelf);
  if (!lock.ok()) return lock.status();
  std::vector<std::uint64_t> steps = CheckpointSteps(directory);
  std::erase_if(steps, [&](std::uint64_t step) { return step > written; });
  std::set<std::uint64_t> stays = WhatStays(steps, retention);
  stays.insert(written);
  if (const auto best = BestStep(shelf)) stays.insert(*best);
  for (const std::uint64_t step : steps)
    if (!stays.contains(step)) MURMURATE_RETURN_IF_ERROR(Delete(shelf, step));
  return {};
}

Status MarkBest(const std::string& directory, std::uint64_t step) {
  const std::string shelf = directory + "/checkpoints";
  auto lock = ShelfLock::Take(shelf);
  if (!lock.ok()) return lock.status();
  std::error_code error;
  const std::string folder = CheckpointFolder(directory, step);
  if (!fs::is_directory(fs::symlink_status(folder, error)))
    return InvalidData(folder + ": no such checkpoint, so it cannot be the best one");
  MURMURATE_RETURN_IF_ERROR(PointLink(shelf, "best", StepName(step)));
  return SyncFolder(shelf);
}

Result<std::string> BestCheckpoint(const std::string& directory) {
  if (const auto step = BestStep(directory + "/checkpoints"))
    return CheckpointFolder(directory, *step);
  return InvalidData(directory +
                     "/checkpoints/best: names no checkpoint; a run marks one when it evaluates "
                     "([evaluation]): take the newest one instead");
}

}  // namespace murmurate
