// Recorder: writes the trajectories that ingest accepts for one model to disk; it never makes
// ingest wait.
//
//   mmr-ingest  Append: copy into a free buffer -ready-> mmr-record  PollOnce: write --free--> back
//
// All buffers are made at the start and bounded together (kBufferBytes). When the disk is slower
// than the play, none is free: the trajectory is trained on, not recorded, and counted.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "murmurate/log.h"
#include "server/data/record_format.h"
#include "server/data/segment_writer.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class Recorder {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{32} << 20;

  static Result<std::unique_ptr<Recorder>> Open(RecordingSettings settings,
                                                const std::string& model, const ModelSpec& spec,
                                                const TrajectoryLayout& layout, LogCallback log);

  /// The ingest thread: a trajectory that passed CheckTrajectory. Copies it, or counts it as
  /// dropped; never waits for the disk, allocates nothing.
  void Append(const TrajectoryView& view);
  /// mmr-record: waits up to `timeout_ms` for trajectories and writes all that are there; bounded
  /// by the buffers. An error is logged once a minute.
  void PollOnce(int timeout_ms);
  void Wake();

  struct Counts {
    std::uint64_t trajectories = 0, steps = 0, bytes = 0;  ///< in the files
    std::uint64_t dropped = 0;                             ///< trajectories: no buffer was free
    std::uint64_t failed = 0;                              ///< trajectories: the disk refused them
  };
  Counts counts() const;
  /// "recorded 1,200 trajectories (9.6 MB) in FOLDER"; with what was dropped and failed.
  std::string Summary() const;

 private:
  struct Buffer {
    AlignedFloats storage;
    std::size_t bytes = 0;
    int steps = 0;
    std::span<std::byte> all() {
      return std::as_writable_bytes(std::span(storage.data(), storage.size()));
    }
  };

  Recorder(SegmentWriter writer, std::string folder, const TrajectoryLayout& layout,
           LogCallback log);
  void Write(Buffer& buffer);

  SegmentWriter writer_;
  const std::string folder_;
  const LogCallback log_;
  std::vector<Buffer> buffers_;
  mutable std::mutex mutex_;
  std::condition_variable something_;
  std::vector<int> free_, ready_;  ///< buffers; neither grows beyond what it reserved
  std::vector<int> writing_;       ///< of mmr-record
  Counts counts_;
  std::int64_t next_error_ns_ = 0;
  bool told_of_drops_ = false, woken_ = false;
};

}  // namespace murmurate
