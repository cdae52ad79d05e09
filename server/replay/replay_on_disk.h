// ReplayOnDisk: which part of a log (replay_log.h) is the replay of now, and of the last
// checkpoints.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "server/replay/replay_log.h"
#include "shared/model/state.h"

namespace murmurate {

class ReplayOnDisk {
 public:
  explicit ReplayOnDisk(std::unique_ptr<ReplayLog> log) : log_(std::move(log)) {}

  /// Writes a trajectory before it is kept. A log that once could not be written says so from then
  /// on (kResource), and is not written any more.
  Status Append(const TrajectoryView& view);
  /// So many of the oldest trajectories are no longer kept.
  void Evicted(std::uint64_t trajectories);

  /// Whether a checkpoint's trajectories may be there. None are in a folder that was emptied.
  bool Holds(const StateReader& reader) const;
  /// Saves which trajectories are kept now; health() is ok. Takes away what neither this nor the
  /// Save before it needs.
  void Save(const StateWriter& writer);
  /// Visits the trajectories that were kept then, in order, and goes on after them.
  Status Load(const StateReader& reader, const std::function<void(const TrajectoryView&)>& visit);

  /// Any thread (ReplayLog::Sync).
  Status Sync() { return log_->Sync(); }
  const Status& health() const { return health_; }

 private:
  LogPosition First() const { return begins_.empty() ? log_->end() : begins_.front(); }

  const std::unique_ptr<ReplayLog> log_;
  bool begun_ = false;
  Status health_;
  std::deque<LogPosition> begins_;  ///< of the trajectories that are kept
  LogPosition saved_first_;         ///< of the last Save
};

}  // namespace murmurate
