#include "server/data/segment_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "server/data/recording_files.h"
#include "shared/core/check.h"

namespace murmurate {

Result<SegmentWriter> SegmentWriter::Open(RecordingSettings settings, std::string model,
                                          std::vector<std::byte> header) {
  std::error_code error;
  std::filesystem::create_directories(settings.folder, error);
  if (error)
    return ResourceError("record.path: " + settings.folder + ": cannot be made (" +
                         error.message() + "); choose a folder that can be written");
  SegmentWriter writer(std::move(settings), std::move(model), std::move(header));
  for (SegmentFile& segment : ListSegments(writer.settings_.folder)) {
    if (segment.model != writer.model_) continue;
    writer.next_number_ = segment.number + 1;
    writer.finished_.push_back({std::move(segment.path), segment.bytes});
  }
  MURMURATE_RETURN_IF_ERROR(writer.BeginSegment());
  return writer;
}

SegmentWriter::SegmentWriter(SegmentWriter&& other) noexcept
    : settings_(std::move(other.settings_)),
      model_(std::move(other.model_)),
      header_(std::move(other.header_)),
      finished_(std::move(other.finished_)),
      next_number_(other.next_number_),
      segment_bytes_(other.segment_bytes_),
      written_(other.written_),
      path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)) {}

SegmentWriter::~SegmentWriter() { CloseSegment(); }

void SegmentWriter::CloseSegment() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  if (segment_bytes_ > header_.size()) {
    finished_.push_back({path_, segment_bytes_});
  } else {
    unlink(path_.c_str());  // nothing was recorded into it
  }
}

void SegmentWriter::RemoveOldest() {
  std::uint64_t total = settings_.segment_bytes();  // what the segment that begins will take
  for (const Old& old : finished_) total += old.bytes;
  while (total > settings_.max_bytes && !finished_.empty()) {
    unlink(finished_.front().path.c_str());
    total -= finished_.front().bytes;
    finished_.erase(finished_.begin());
  }
}

Status SegmentWriter::BeginSegment() {
  CloseSegment();
  RemoveOldest();
  path_ = SegmentPath(settings_.folder, model_, next_number_);
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0)
    return ResourceError(path_ + ": cannot be written (" + std::strerror(errno) +
                         "); record.path must be a folder of this run alone that can be written");
  ++next_number_;
  segment_bytes_ = 0;
  Status status = WriteWhole(header_);
  if (!status.ok()) CloseSegment();
  return status;
}

Status SegmentWriter::WriteWhole(std::span<const std::byte> bytes) {
  const std::uint64_t before = segment_bytes_;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = write(fd_, bytes.data() + done, bytes.size() - done);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    const std::string why = std::strerror(count == 0 ? ENOSPC : errno);
    if (ftruncate(fd_, static_cast<off_t>(before)) == 0)
      (void)lseek(fd_, static_cast<off_t>(before), SEEK_SET);
    return ResourceError(path_ + ": cannot be written (" + why +
                         "); free some disk space, or lower record.max_bytes");
  }
  segment_bytes_ += bytes.size();
  return {};
}

Status SegmentWriter::Append(std::span<const std::byte> record) {
  const bool full =
      segment_bytes_ > header_.size() && segment_bytes_ + record.size() > settings_.segment_bytes();
  if (fd_ < 0 || full) MURMURATE_RETURN_IF_ERROR(BeginSegment());
  MURMURATE_RETURN_IF_ERROR(WriteWhole(record));
  written_ += record.size();
  return {};
}

}  // namespace murmurate
