// EventFile: a file of TensorBoard's events: TFRecord frames (length, its sum, the event, its sum;
// the sums are masked CRC-32C), each written at once, so that a reader sees whole events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "murmurate/status.h"

namespace murmurate {

class EventFile {
 public:
  /// Makes a file in `folder`: events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER, a name that is not
  /// there yet.
  static Result<EventFile> Create(const std::string& folder);

  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  /// Appends an event. After a failure (a full disk) the file ends with its last whole event.
  Status Append(std::string_view event);
  const std::string& path() const { return path_; }

 private:
  EventFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
  std::int64_t size_ = 0;
};

/// Shortens every event file of `folder` to the events before the first that is of more than `step`
/// steps, or that is damaged; without a step, to none. Files without events are removed. Gives how
/// many bytes were cut off.
Result<std::uint64_t> CutEventsAfter(const std::string& folder, std::optional<std::uint64_t> step);

}  // namespace murmurate
