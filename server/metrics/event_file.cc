#include "server/metrics/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "server/metrics/crc32c.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kHeadBytes = 12, kTailBytes = 4;
/// Of an event, the time (9 bytes) and the step come first, as all writers have them.
constexpr std::size_t kStepAt = 9, kStepBytes = 11;
constexpr int kMostNames = 1000;

std::string LittleEndian(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::uint64_t FromLittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

Status CannotWrite(const std::string& path, const char* remedy) {
  return ResourceError(path + ": cannot be written (" + std::strerror(errno) + "); " + remedy);
}

/// The step of an event that begins with these bytes; 0 where it has none.
std::uint64_t StepOf(std::string_view event) {
  if (event.size() <= kStepAt || event[kStepAt] != '\x10') return 0;
  std::uint64_t step = 0;
  for (std::size_t i = kStepAt + 1, shift = 0; i < event.size() && shift < 64; ++i, shift += 7) {
    step |= static_cast<std::uint64_t>(event[i] & 0x7F) << shift;
    if ((event[i] & 0x80) == 0) break;
  }
  return step;
}

/// The bytes that the next frame takes, when it is whole, undamaged and of at most `step` steps.
std::optional<std::uint64_t> NextFrame(std::ifstream* file, std::uint64_t left,
                                       std::uint64_t step) {
  std::string head(kHeadBytes, '\0');
  if (left < kHeadBytes + kTailBytes || !file->read(head.data(), kHeadBytes)) return std::nullopt;
  const std::string_view length(head.data(), 8);
  const std::uint64_t bytes = FromLittleEndian(length);
  if (FromLittleEndian(std::string_view(head).substr(8)) != MaskedCrc32c(length) ||
      bytes > left - kHeadBytes - kTailBytes)
    return std::nullopt;
  std::string event(bytes + kTailBytes, '\0');
  if (!file->read(event.data(), static_cast<std::streamsize>(event.size()))) return std::nullopt;
  const std::string_view body(event.data(), bytes);
  if (FromLittleEndian(std::string_view(event).substr(bytes)) != MaskedCrc32c(body) ||
      StepOf(body.substr(0, kStepAt + kStepBytes)) > step)
    return std::nullopt;
  return kHeadBytes + bytes + kTailBytes;
}

/// How long a file of `size` bytes is to be.
std::uint64_t LengthUpTo(const fs::path& path, std::uint64_t size, std::uint64_t step) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  for (auto frame = NextFrame(&file, size, step); frame;
       frame = NextFrame(&file, size - length, step))
    length += *frame;
  return length;
}

}  // namespace

Result<EventFile> EventFile::Create(const std::string& folder) {
  const std::string stem = folder + '/' + std::string(kPrefix) +
                           std::to_string(std::time(nullptr)) + '.' + HostName() + '.' +
                           std::to_string(getpid()) + '.';
  for (int i = 0; i < kMostNames; ++i) {
    const std::string path = stem + std::to_string(i);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) return EventFile(path, fd);
    if (errno != EEXIST) break;
  }
  return CannotWrite(
      stem + '0',
      "check the folder's permissions, or turn it off with --set metrics.tensorboard=false");
}

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

EventFile::~EventFile() {
  if (fd_ >= 0) close(fd_);
}

Status EventFile::Append(std::string_view event) {
  const std::string length = LittleEndian(event.size(), 8);
  std::string frame = length + LittleEndian(MaskedCrc32c(length), 4);
  frame += event;
  frame += LittleEndian(MaskedCrc32c(event), 4);
  const ssize_t written = write(fd_, frame.data(), frame.size());
  if (written == static_cast<ssize_t>(frame.size())) {
    size_ += written;
    return {};
  }
  if (written >= 0) errno = ENOSPC;  // which is what a part of a regular file's write means
  Status failed = CannotWrite(path_, "free some disk space");
  if (ftruncate(fd_, size_) != 0) return failed;  // the damaged event is the last that is read
  return failed;
}

Result<std::uint64_t> CutEventsAfter(const std::string& folder, std::optional<std::uint64_t> step) {
  std::uint64_t cut = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix) || !entry.is_regular_file(error))
      continue;
    const std::uint64_t size = entry.file_size(error);
    const std::uint64_t length = step ? LengthUpTo(entry.path(), size, *step) : 0;
    if (!error && length == 0) fs::remove(entry.path(), error);
    if (!error && length > 0 && length < size) fs::resize_file(entry.path(), length, error);
    if (error) break;
    cut += size - length;
  }
  if (error)
    return ResourceError(folder + ": its event files cannot be shortened (" + error.message() +
                         "); check the folder's permissions");
  return cut;
}

}  // namespace murmurate
