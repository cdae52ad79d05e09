#include "server/data/recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kErrorLineNs = 60 * kNanosecondsPerSecond;
constexpr std::size_t kFewestBuffers = 4, kMostBuffers = 1024;

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::Open(RecordingSettings settings,
                                                 const std::string& model, const ModelSpec& spec,
                                                 const TrajectoryLayout& layout, LogCallback log) {
  const std::string folder = settings.folder;
  Result<SegmentWriter> writer =
      SegmentWriter::Open(std::move(settings), model, SegmentHeader(spec, layout.length));
  if (!writer.ok()) return writer.status();
  return std::unique_ptr<Recorder>(
      new Recorder(*std::move(writer), folder, layout, std::move(log)));
}

Recorder::Recorder(SegmentWriter writer, std::string folder, const TrajectoryLayout& layout,
                   LogCallback log)
    : writer_(std::move(writer)), folder_(std::move(folder)), log_(std::move(log)) {
  const std::size_t bytes = MaxRecordBytes(layout);
  const std::size_t count = std::clamp(kBufferBytes / bytes, kFewestBuffers, kMostBuffers);
  buffers_.resize(count);
  for (Buffer& buffer : buffers_) buffer.storage = AlignedFloats(bytes / sizeof(float));
  for (auto* list : {&free_, &ready_, &writing_}) list->reserve(count);
  for (std::size_t i = 0; i < count; ++i) free_.push_back(static_cast<int>(i));
}

void Recorder::Append(const TrajectoryView& view) {
  int place = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      ++counts_.dropped;
      return;
    }
    place = free_.back();
    free_.pop_back();
  }
  Buffer& buffer = buffers_[place];
  buffer.bytes = WriteRecord(view, buffer.all());
  buffer.steps = view.steps;
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(place);
  }
  something_.notify_one();
}

void Recorder::PollOnce(int timeout_ms) {
  bool tell = false;
  {
    std::unique_lock lock(mutex_);
    something_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return woken_ || !ready_.empty(); });
    woken_ = false;
    writing_.swap(ready_);
    tell = counts_.dropped > 0 && !told_of_drops_;
    told_of_drops_ |= tell;
  }
  if (tell && log_)
    log_(LogLevel::kWarning,
         folder_ +
             ": the disk is slower than the play, so not everything is recorded; training "
             "goes on");
  for (const int place : writing_) {
    Write(buffers_[place]);
    const std::lock_guard lock(mutex_);
    free_.push_back(place);
  }
  writing_.clear();
}

void Recorder::Write(Buffer& buffer) {
  const Status status = writer_.Append(buffer.all().first(buffer.bytes));
  {
    const std::lock_guard lock(mutex_);
    if (!status.ok()) ++counts_.failed;
    if (status.ok()) {
      ++counts_.trajectories;
      counts_.steps += static_cast<std::uint64_t>(buffer.steps);
      counts_.bytes += buffer.bytes;
    }
  }
  const std::int64_t now_ns = MonotonicNs();
  if (status.ok() || now_ns < next_error_ns_) return;
  next_error_ns_ = now_ns + kErrorLineNs;
  if (log_) log_(LogLevel::kError, status.message() + "; training goes on without it");
}

void Recorder::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  something_.notify_one();
}

Recorder::Counts Recorder::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string Recorder::Summary() const {
  const Counts now = counts();
  char size[32];
  std::snprintf(size, sizeof size, "%.1f MB", static_cast<double>(now.bytes) * 1e-6);
  std::string text = "recorded " + std::to_string(now.trajectories) + " trajectories (" +
                     std::to_string(now.steps) + " steps, " + size + ") in " + folder_;
  if (now.dropped > 0)
    text += "; " + std::to_string(now.dropped) + " left out because the disk was slow";
  if (now.failed > 0) text += "; " + std::to_string(now.failed) + " could not be written";
  return text;
}

}  // namespace murmurate
