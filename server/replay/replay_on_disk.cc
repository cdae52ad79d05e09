#include "server/replay/replay_on_disk.h"

#include <array>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr char kLog[] = "log";  ///< segment and offset of the first record, and after the last

}  // namespace

std::optional<ReplayOnDisk::Saved> ReplayOnDisk::SavedIn(const StateReader& reader) {
  const auto words = reader.AllWords(kLog);
  if (!words.ok() || words->size() != 4) return {};
  const auto position = [&](std::size_t i) {
    return LogPosition{static_cast<std::uint32_t>((*words)[i]),
                       static_cast<std::uint32_t>((*words)[i + 1])};
  };
  return Saved{position(0), position(2)};
}

void ReplayOnDisk::Write(const ChunkRing& chunks, WindowCopy& copy) {
  if (Status begun = Begin(); !begun.ok())
    health_ = std::move(begun);
  else if (Status caught_up = CatchUp(chunks, copy); !caught_up.ok())
    health_ = std::move(caught_up);
  else if (begins_.size() == chunks.size())
    health_ = {};
}

/// Until there is a file to write to.
Status ReplayOnDisk::Begin() {
  if (!begun_) {
    MURMURATE_RETURN_IF_ERROR(log_->StartAnew());
    begun_ = true;
  }
  if (Status lost = log_->lost(); !lost.ok()) {
    health_ = std::move(lost);
    begins_.clear();
    {
      const std::lock_guard lock(mutex_);
      renewed_at_ = log_->end().segment + 1;
    }
    return log_->Renew();
  }
  return {};
}

Status ReplayOnDisk::CatchUp(const ChunkRing& chunks, WindowCopy& copy) {
  for (std::uint64_t bytes = 0; begins_.size() < chunks.size();) {
    if (!health_.ok() && bytes >= kCatchUpBytes) return {};
    batch_.Clear();
    copy.AddChunk(chunks.first() + begins_.size(), &batch_);
    const Result<LogPosition> begin = log_->Append(batch_.View(0));
    if (!begin.ok()) return begin.status();
    begins_.push_back(*begin);
    bytes += batch_.block().size();
  }
  return {};
}

void ReplayOnDisk::Evicted(std::uint64_t trajectories) {
  for (; trajectories > 0 && !begins_.empty(); --trajectories) begins_.pop_front();
}

bool ReplayOnDisk::Holds(const StateReader& reader) const {
  const auto saved = SavedIn(reader);
  return saved && (saved->first == saved->last || log_->Has(saved->first));
}

bool ReplayOnDisk::Save(const StateWriter& writer) {
  if (!health_.ok() || !log_->lost().ok()) return false;
  const LogPosition first = First(), last = log_->end();
  writer.Words(
      kLog, std::array<std::uint64_t, 4>{first.segment, first.offset, last.segment, last.offset});
  LogPosition needed;
  {
    const std::lock_guard lock(mutex_);
    needed = written_before_;
  }
  log_->Forget(needed);
  return true;
}

Status ReplayOnDisk::Load(const StateReader& reader,
                          const std::function<void(const TrajectoryView&)>& visit) {
  const auto saved = SavedIn(reader);
  MURMURATE_CHECK(saved, "Holds said so");
  begun_ = true;
  written_ = written_before_ = saved->first;
  return log_->GoOnFrom(saved->first, saved->last,
                        [&](LogPosition begin, const TrajectoryView& view) {
                          begins_.push_back(begin);
                          visit(view);
                        });
}

/// No file that is made from now on has a name that the checkpoint knows.
void ReplayOnDisk::Leave(const StateReader& reader) {
  if (const auto saved = SavedIn(reader)) log_->NumberAfter(saved->last.segment);
  missing_ = folder() + ": does not have the replay of the checkpoint, which is filled anew";
}

void ReplayOnDisk::Seal(const StateReader& saved, const StateWriter& section) {
  const auto log = SavedIn(saved);
  if (!log) return;
  bool there = log_->Sync().ok();
  {
    const std::lock_guard lock(mutex_);
    there = there && log->first.segment >= renewed_at_;
  }
  if (!there) section.Words(kLog, {});
}

void ReplayOnDisk::Written(const StateReader& saved) {
  const auto log = SavedIn(saved);
  if (!log) return;
  const std::lock_guard lock(mutex_);
  written_before_ = std::exchange(written_, log->first);
}

}  // namespace murmurate
