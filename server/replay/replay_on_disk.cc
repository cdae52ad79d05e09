#include "server/replay/replay_on_disk.h"

#include <array>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {

Status ReplayOnDisk::Append(const TrajectoryView& view) {
  if (health_.ok() && !std::exchange(begun_, true)) health_ = log_->StartAnew();
  MURMURATE_RETURN_IF_ERROR(health_);
  const Result<LogPosition> begin = log_->Append(view);
  if (begin.ok())
    begins_.push_back(*begin);
  else
    health_ = begin.status();
  return health_;
}

void ReplayOnDisk::Evicted(std::uint64_t trajectories) {
  for (; trajectories > 0 && !begins_.empty(); --trajectories) begins_.pop_front();
}

bool ReplayOnDisk::Holds(const StateReader& reader) const {
  return !log_->empty() && reader.AllWords("log").ok();
}

void ReplayOnDisk::Save(const StateWriter& writer) {
  MURMURATE_CHECK(health_.ok(), "the log has all that is kept");
  const LogPosition first = First(), last = log_->end();
  writer.Words(
      "log", std::array<std::uint64_t, 4>{first.segment, first.offset, last.segment, last.offset});
  log_->Forget(std::exchange(saved_first_, first));
}

Status ReplayOnDisk::Load(const StateReader& reader,
                          const std::function<void(const TrajectoryView&)>& visit) {
  std::array<std::uint64_t, 4> saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("log", saved));
  const auto position = [&](std::size_t i) {
    return LogPosition{static_cast<std::uint32_t>(saved[i]),
                       static_cast<std::uint32_t>(saved[i + 1])};
  };
  begun_ = true;
  saved_first_ = position(0);
  return log_->GoOnFrom(position(0), position(2),
                        [&](LogPosition begin, const TrajectoryView& view) {
                          begins_.push_back(begin);
                          visit(view);
                        });
}

}  // namespace murmurate
