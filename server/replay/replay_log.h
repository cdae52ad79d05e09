// ReplayLog: the trajectories of a replay on disk, in the order in which they were kept, as records
// of segment files (server/data/record_format.h), so that a run goes on with the replay that it
// had. A folder of its own: files of one replay and of nothing else.
//
//   | 000001.traj ....|first .... | 000002.traj ........ | 000003.traj .... last| dead
//                      what a checkpoint's replay holds                          what came after
//
// What Append has returned from is safe from the end of this process, however it ends; from the end
// of the machine after the next Sync. The kernel is asked to write while play goes on, so that Sync
// has little left to wait for.
//
// One thread, but Sync.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/model_spec.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// Where a record begins.
struct LogPosition {
  std::uint32_t segment = 0, offset = 0;
  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
};

class ReplayLog {
 public:
  static constexpr std::uint64_t kSegmentBytes = std::uint64_t{256} << 20;

  /// Makes the folder, and keeps what is there until GoOnFrom or StartAnew, which comes before the
  /// first Append. kResource: it cannot be written to.
  static Result<std::unique_ptr<ReplayLog>> Open(const std::string& folder,
                                                 const std::string& model, const ModelSpec& spec,
                                                 const TrajectoryLayout& layout,
                                                 std::uint64_t segment_bytes = kSegmentBytes);
  ~ReplayLog();
  ReplayLog(const ReplayLog&) = delete;
  ReplayLog& operator=(const ReplayLog&) = delete;

  /// Takes away all that is there.
  Status StartAnew();
  /// Takes nothing away, and begins a file after the last one, whatever became of that: lost() is
  /// then over.
  Status Renew();
  /// The numbers of files that are begun from now on come after this one.
  void NumberAfter(std::uint32_t segment) { segment_ = std::max(segment_, segment); }
  /// Reads the records from `first` to before `last`, in order, and takes away what came after.
  /// `visit` gives where a record begins, and its trajectory, which has passed CheckTrajectory and
  /// is valid until it returns. kInvalidData: one of them is not there, or damaged, or of another
  /// model.
  Status GoOnFrom(LogPosition first, LogPosition last,
                  const std::function<void(LogPosition, const TrajectoryView&)>& visit);

  /// Appends a trajectory; where it begins. kResource (disk full, folder gone): it is not in the
  /// log.
  Result<LogPosition> Append(const TrajectoryView& view);
  const std::string& folder() const { return folder_; }
  /// After the last record.
  LogPosition end() const { return {segment_, offset_}; }
  /// Whether the file is there in which a record began.
  bool Has(LogPosition begin) const {
    return std::ranges::find(segments_, begin.segment) != segments_.end();
  }
  /// Waits until all that was appended is on the disk; any thread. Once that failed it fails until
  /// Renew, for the system may have dropped what it could not write.
  Status Sync();
  /// Why Sync fails; any thread.
  Status lost() const;
  /// What Sync calls of each file instead of fdatasync: a disk that fails, in a test. Before Sync.
  void SyncBy(std::function<int(int file)> sync) { sync_ = std::move(sync); }

  /// Takes away the segments that lie before `first` whole.
  void Forget(LogPosition first);

 private:
  ReplayLog(std::string folder, std::string model, const ModelSpec& spec,
            const TrajectoryLayout& layout, std::uint64_t segment_bytes);

  Status BeginSegment();
  Status Write(std::span<const std::byte> bytes);
  Status ReadSegment(std::uint32_t segment, std::uint32_t from, std::uint64_t to,
                     const std::function<void(LogPosition, const TrajectoryView&)>& visit);
  Status CutAfter(LogPosition last);
  std::string PathOf(std::uint32_t segment) const;

  const std::string folder_, model_;
  const TrajectoryLayout layout_;
  const std::vector<std::byte> header_;
  const std::uint64_t segment_bytes_;
  std::vector<std::byte> record_;
  std::vector<std::uint32_t> segments_;  ///< those that are there, oldest first
  std::uint32_t segment_ = 0, offset_ = 0;
  std::uint32_t begun_ = 0;  ///< so much of the segment the kernel was asked to write
  int fd_ = -1;
  std::function<int(int file)> sync_ = fdatasync;
  mutable std::mutex mutex_;   ///< of fd_ against Sync, and of what follows
  std::vector<int> unsynced_;  ///< files of finished segments
  Status lost_;                ///< why some may not be on the disk
};

}  // namespace murmurate
