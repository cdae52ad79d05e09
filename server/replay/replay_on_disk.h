// ReplayOnDisk: which part of a log (replay_log.h) is the replay of now, and of the last
// checkpoints.
//
// What is kept is in memory, and written from there: a log that could not be written, because its
// disk was full, catches up when there is room again, and one whose files were lost is written
// anew. Meanwhile health() says why, and there is nothing to Save.
//
// The files that the last two checkpoints on the disk need stay, and what came after; those that
// only older ones need go.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "server/replay/chunk_ring.h"
#include "server/replay/replay_log.h"
#include "server/replay/window_copy.h"
#include "shared/model/state.h"

namespace murmurate {

class ReplayOnDisk {
 public:
  /// A log that catches up writes so much in one Write: training waits for it.
  static constexpr std::uint64_t kCatchUpBytes = std::uint64_t{32} << 20;

  ReplayOnDisk(std::unique_ptr<ReplayLog> log, const TrajectoryLayout& layout)
      : log_(std::move(log)), batch_(layout, 1) {}

  /// Writes the trajectories that are kept and not written yet, oldest first. `copy` reads the rows
  /// of `chunks`.
  void Write(const ChunkRing& chunks, WindowCopy& copy);
  /// So many of the oldest trajectories are no longer kept.
  void Evicted(std::uint64_t trajectories);
  /// Not ok: kResource, and some trajectories are not written.
  const Status& health() const { return health_; }

  /// Whether a checkpoint's trajectories are there. None are in a folder that was emptied, or if
  /// two later checkpoints were written.
  bool Holds(const StateReader& reader) const;
  const std::string& folder() const { return log_->folder(); }
  /// Saves which trajectories are kept now, if health() is ok; else nothing. True: it did.
  bool Save(const StateWriter& writer);
  /// Visits the trajectories that were kept then, in order, and goes on after them.
  Status Load(const StateReader& reader, const std::function<void(const TrajectoryView&)>& visit);
  /// Goes on with none of a checkpoint's trajectories; missing() then says so.
  void Leave(const StateReader& reader);
  const std::string& missing() const { return missing_; }

  /// ExperienceStore's; any thread.
  void Seal(const StateReader& saved, const StateWriter& section);
  void Written(const StateReader& saved);

 private:
  struct Saved {
    LogPosition first, last;
  };
  static std::optional<Saved> SavedIn(const StateReader& reader);

  Status CatchUp(const ChunkRing& chunks, WindowCopy& copy);
  Status Begin();
  LogPosition First() const { return begins_.empty() ? log_->end() : begins_.front(); }

  const std::unique_ptr<ReplayLog> log_;
  TrainingBatch batch_;  ///< of one trajectory
  bool begun_ = false;
  Status health_;
  std::string missing_;
  std::deque<LogPosition> begins_;  ///< of the oldest trajectories that are kept: those written
  std::mutex mutex_;                ///< of what follows
  std::uint32_t renewed_at_ = 0;    ///< what lies in files before this one may be lost
  LogPosition written_, written_before_;  ///< the first that the last two checkpoints need
};

}  // namespace murmurate
