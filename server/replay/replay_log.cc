#include "server/replay/replay_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "server/data/mapped_file.h"
#include "server/data/record_format.h"
#include "server/data/recording_files.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// So much is begun to be written at once.
constexpr std::uint32_t kPieceBytes = 8u << 20;
/// To the end of a segment.
constexpr std::uint64_t kWhole = ~std::uint64_t{0};

Status CannotWrite(const std::string& path, int error) {
  return ResourceError(path + ": the replay cannot be written (" + std::strerror(error) +
                       "); free some disk space");
}

}  // namespace

Result<std::unique_ptr<ReplayLog>> ReplayLog::Open(const std::string& folder,
                                                   const std::string& model, const ModelSpec& spec,
                                                   const TrajectoryLayout& layout,
                                                   std::uint64_t segment_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return ResourceError(folder + ": the replay's folder cannot be made (" + error.message() + ')');
  std::unique_ptr<ReplayLog> log(new ReplayLog(folder, model, spec, layout, segment_bytes));
  for (const SegmentFile& file : ListSegments(folder))
    if (file.model == model && file.number <= std::numeric_limits<std::uint32_t>::max())
      log->segments_.push_back(static_cast<std::uint32_t>(file.number));
  log->segment_ = log->segments_.empty() ? 0 : log->segments_.back();
  return log;
}

ReplayLog::ReplayLog(std::string folder, std::string model, const ModelSpec& spec,
                     const TrajectoryLayout& layout, std::uint64_t segment_bytes)
    : folder_(std::move(folder)),
      model_(std::move(model)),
      layout_(layout),
      header_(SegmentHeader(spec, layout.length)),
      segment_bytes_(segment_bytes),
      record_(MaxRecordBytes(layout)) {
  MURMURATE_CHECK(header_.size() + record_.size() <= segment_bytes_ &&
                      segment_bytes_ <= std::numeric_limits<std::uint32_t>::max(),
                  "a record fits into a segment");
}

ReplayLog::~ReplayLog() {
  if (fd_ >= 0) (void)close(fd_);
  for (const int file : unsynced_) (void)close(file);
}

std::string ReplayLog::PathOf(std::uint32_t segment) const {
  return SegmentPath(folder_, model_, segment);
}

Status ReplayLog::StartAnew() {
  for (const std::uint32_t segment : segments_) (void)unlink(PathOf(segment).c_str());
  segments_.clear();
  return BeginSegment();
}

Status ReplayLog::BeginSegment() {
  const std::string path = PathOf(++segment_);
  {
    const std::lock_guard lock(mutex_);
    if (fd_ >= 0) unsynced_.push_back(fd_);
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0) return CannotWrite(path, errno);
  }
  segments_.push_back(segment_);
  offset_ = begun_ = 0;
  Status written = Write(header_);
  if (written.ok()) return written;
  segments_.pop_back();
  (void)unlink(path.c_str());
  const std::lock_guard lock(mutex_);
  (void)close(std::exchange(fd_, -1));
  return written;
}

Status ReplayLog::Renew() {
  {
    const std::lock_guard lock(mutex_);
    if (fd_ >= 0) unsynced_.push_back(std::exchange(fd_, -1));
    for (const int file : unsynced_) (void)close(file);
    unsynced_.clear();
    lost_ = {};
  }
  return BeginSegment();
}

Status ReplayLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

/// All of it, or nothing.
Status ReplayLog::Write(std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset_ + done));
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    const int error = count == 0 ? ENOSPC : errno;
    (void)!ftruncate(fd_, static_cast<off_t>(offset_));
    return CannotWrite(PathOf(segment_), error);
  }
  offset_ += static_cast<std::uint32_t>(bytes.size());
  if (offset_ - begun_ >= kPieceBytes) {
    (void)sync_file_range(fd_, begun_, offset_ - begun_, SYNC_FILE_RANGE_WRITE);
    begun_ = offset_;
  }
  return {};
}

Result<LogPosition> ReplayLog::Append(const TrajectoryView& view) {
  const std::size_t bytes = WriteRecord(view, record_);
  MURMURATE_CHECK(segment_ > 0, "the log was begun");
  if (fd_ < 0 || offset_ + bytes > segment_bytes_) MURMURATE_RETURN_IF_ERROR(BeginSegment());
  const LogPosition begin = end();
  MURMURATE_RETURN_IF_ERROR(Write(std::span(record_).first(bytes)));
  return begin;
}

Status ReplayLog::Sync() {
  std::vector<int> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(unsynced_);
    if (fd_ >= 0) files.push_back(dup(fd_));
  }
  Status lost;
  for (const int file : files) {
    if (sync_(file) != 0) lost = CannotWrite(folder_, errno);
    (void)close(file);
  }
  const std::lock_guard lock(mutex_);
  if (!lost.ok()) lost_ = lost;
  return lost_;
}

void ReplayLog::Forget(LogPosition first) {
  std::erase_if(segments_, [&](std::uint32_t segment) {
    if (segment >= first.segment || segment == segment_) return false;
    (void)unlink(PathOf(segment).c_str());
    return true;
  });
}

Status ReplayLog::GoOnFrom(LogPosition first, LogPosition last,
                           const std::function<void(LogPosition, const TrajectoryView&)>& visit) {
  for (const std::uint32_t segment : std::vector(segments_)) {
    if (segment < first.segment || segment > last.segment) continue;
    const std::uint32_t from = segment == first.segment ? first.offset : 0;
    const std::uint64_t to = segment == last.segment ? last.offset : kWhole;
    MURMURATE_RETURN_IF_ERROR(ReadSegment(segment, from, to, visit));
  }
  return CutAfter(last);
}

Status ReplayLog::ReadSegment(
    std::uint32_t segment, std::uint32_t from, std::uint64_t to,
    const std::function<void(LogPosition, const TrajectoryView&)>& visit) {
  const std::string path = PathOf(segment);
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return InvalidData(file.status().message());
  const auto bytes = file->bytes();
  if (to != kWhole && bytes.size() < to)
    return InvalidData(path + ": the replay ends at byte " + std::to_string(bytes.size()) +
                       " of the checkpoint's " + std::to_string(to));
  const bool same = bytes.size() >= header_.size() &&
                    std::memcmp(bytes.data(), header_.data(), header_.size()) == 0;
  if (!same) return InvalidData(path + ": is no replay of this model with this T");
  const std::uint64_t end = std::min<std::uint64_t>(to, bytes.size());
  for (std::uint64_t at = std::max<std::uint64_t>(from, header_.size()); at < end;) {
    const ReadRecord record = ReadRecordAt(bytes.subspan(at));
    const LogPosition begin{segment, static_cast<std::uint32_t>(at)};
    const std::string place = path + ": the replay is damaged at byte " + std::to_string(at);
    if (!record.intact) return InvalidData(place);
    if (Status status = CheckTrajectory(record.view, layout_); !status.ok())
      return InvalidData(place + ": " + status.message());
    visit(begin, record.view);
    at += record.bytes;
  }
  return {};
}

Status ReplayLog::CutAfter(LogPosition last) {
  std::erase_if(segments_, [&](std::uint32_t segment) {
    if (segment <= last.segment) return false;
    (void)unlink(PathOf(segment).c_str());
    return true;
  });
  if (!segments_.empty() && segments_.back() == last.segment &&
      truncate(PathOf(last.segment).c_str(), static_cast<off_t>(last.offset)) != 0)
    return CannotWrite(PathOf(last.segment), errno);
  segment_ = std::max(segment_, last.segment);
  return BeginSegment();
}

}  // namespace murmurate
