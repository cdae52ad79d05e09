#include "server/operate/checkpoint_directory.h"

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

constexpr char kBestPrefix[] = "best-";

/// The steps of the folders whose name is `prefix` and a step's, ascending.
std::vector<std::uint64_t> StepsIn(const std::string& checkpoints, std::string_view prefix) {
  std::error_code error;
  std::vector<std::uint64_t> steps;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    if (const auto step = StepOf(std::string_view(name).substr(prefix.size())))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Those of `steps` that stay; they ascend, and the last is the newest.
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

std::string BestName(std::uint64_t step) { return kBestPrefix + StepName(step); }

std::vector<std::uint64_t> BestSteps(const std::string& checkpoints) {
  return StepsIn(checkpoints, kBestPrefix);
}

Status DeleteCheckpoint(const std::string& checkpoints, const std::string& name) {
  const std::string doomed = checkpoints + '/' + kUnfinished + "delete-" + name;
  Failpoint("before-delete");
  MURMURATE_RETURN_IF_ERROR(RenamePath(checkpoints + '/' + name, doomed));
  Failpoint("in-delete");
  std::error_code error;
  fs::remove_all(doomed, error);
  if (error) return ResourceError(FileSentence("delete", doomed, error.value()));
  Failpoint("after-delete");
  return {};
}

Result<CheckpointLock> CheckpointLock::Acquire(const std::string& checkpoints) {
  const int fd = open(checkpoints.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ResourceError(FileSentence("open", checkpoints, errno));
  CheckpointLock lock(fd);
  int outcome = 0;
  do {
    outcome = flock(fd, LOCK_EX);
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0) return ResourceError(FileSentence("lock", checkpoints, errno));
  return lock;
}

CheckpointLock::CheckpointLock(CheckpointLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

CheckpointLock::~CheckpointLock() {
  if (fd_ >= 0) close(fd_);
}

void SweepUnfinished(const std::string& checkpoints) {
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(kUnfinished))
      unfinished.push_back(entry->path());
  for (const fs::path& path : unfinished) fs::remove_all(path, error);
}

Status PointLink(const std::string& checkpoints, const std::string& link, const std::string& name) {
  const std::string making = checkpoints + '/' + kUnfinished + link;
  unlink(making.c_str());
  if (symlink(name.c_str(), making.c_str()) != 0)
    return ResourceError(FileSentence("make the link", making, errno));
  return RenamePath(making, checkpoints + '/' + link);
}

Status RenamePath(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return {};
  return ResourceError(FileSentence("put in place", to, errno));
}

Status SwapPaths(const std::string& one, const std::string& other) {
  // guard: KilledWriter.WhileOneTakesAnothersPlaceLeavesOneOfTheTwo: one checkpoint replaces
  //   another in one exchange of names
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
  return StepsIn(directory + "/checkpoints", "");
}

Status PruneCheckpoints(const std::string& directory, const Retention& retention,
                        std::uint64_t written) {
  const std::string checkpoints = directory + "/checkpoints";
  auto lock = CheckpointLock::Acquire(checkpoints);
  if (!lock.ok()) return lock.status();
  std::vector<std::uint64_t> steps = CheckpointSteps(directory);
  std::erase_if(steps, [&](std::uint64_t step) { return step > written; });
  std::set<std::uint64_t> stays = WhatStays(steps, retention);
  stays.insert(written);
  for (const std::uint64_t step : steps)
    if (!stays.contains(step))
      MURMURATE_RETURN_IF_ERROR(DeleteCheckpoint(checkpoints, StepName(step)));
  return {};
}

}  // namespace murmurate
