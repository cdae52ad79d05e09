// SegmentWriter: one model's records appended to segment files, which are rotated by size and
// bounded in total: when a new one begins, the oldest of this model go. A process never appends to
// another's file. Reading and writing one recording at once is fine: readers skip a last record
// that is not whole. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct RecordingSettings {
  std::string folder;                                ///< "": nothing is recorded
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< of one model's segments together
  std::uint64_t segment_bytes() const { return max_bytes / 8; }
};

class SegmentWriter {
 public:
  /// Makes the folder and finds what is there; kResource when nothing can be written there.
  static Result<SegmentWriter> Open(RecordingSettings settings, std::string model,
                                    std::vector<std::byte> header);
  SegmentWriter(SegmentWriter&& other) noexcept;
  SegmentWriter& operator=(SegmentWriter&&) = delete;
  ~SegmentWriter();

  /// Appends one record. kResource (disk full, folder gone): it is not in the recording, what half
  /// of it may be in the file is cut off again, and the next one is tried anew.
  Status Append(std::span<const std::byte> record);

  std::uint64_t written_bytes() const { return written_; }

 private:
  struct Old {
    std::string path;
    std::uint64_t bytes;
  };
  SegmentWriter(RecordingSettings settings, std::string model, std::vector<std::byte> header)
      : settings_(std::move(settings)), model_(std::move(model)), header_(std::move(header)) {}
  Status BeginSegment();
  void CloseSegment();
  void RemoveOldest();
  Status WriteWhole(std::span<const std::byte> bytes);

  RecordingSettings settings_;
  std::string model_;
  std::vector<std::byte> header_;
  std::vector<Old> finished_;  ///< oldest first
  std::uint64_t next_number_ = 1, segment_bytes_ = 0, written_ = 0;
  std::string path_;
  int fd_ = -1;
};

}  // namespace murmurate
