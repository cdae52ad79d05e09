#include "server/page/request_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kLookAtStoppingMs = 50;

bool Again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

RequestStream::RequestStream(int fd, const RequestLimits& limits, const std::atomic<bool>* stopping)
    : fd_(fd),
      limits_(limits),
      stopping_(*stopping),
      request_deadline_ns_(MonotonicNs() + limits.request_ns) {}

bool RequestStream::Await(short events, std::int64_t deadline_ns) const {
  while (!stopping_) {
    const std::int64_t left_ms = (deadline_ns - MonotonicNs()) / kNanosecondsPerMillisecond;
    if (left_ms <= 0) return false;
    pollfd place{fd_, events, 0};
    if (poll(&place, 1, static_cast<int>(std::min(left_ms, kLookAtStoppingMs))) > 0) return true;
  }
  return false;
}

bool RequestStream::is_readable() const {
  return begin_ < end_ || Await(POLLIN, request_deadline_ns_);
}

bool RequestStream::is_writable() const { return Await(POLLOUT, MonotonicNs() + limits_.write_ns); }

/// Reads what has come into the empty buffer.
ssize_t RequestStream::Fill() {
  begin_ = end_ = 0;
  while (Await(POLLIN, request_deadline_ns_)) {
    const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && Again()) continue;
    if (count > 0) end_ = static_cast<std::size_t>(count);
    return count;
  }
  return -1;
}

ssize_t RequestStream::read(char* bytes, std::size_t size) {
  too_large_ = too_large_ || taken_ >= limits_.request_bytes;
  if (too_large_) return -1;
  if (begin_ == end_)
    if (const ssize_t count = Fill(); count <= 0) return count;
  const std::size_t count = std::min({size, end_ - begin_, limits_.request_bytes - taken_});
  std::memcpy(bytes, buffer_.data() + begin_, count);
  begin_ += count;
  taken_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t RequestStream::write(const char* bytes, std::size_t size) {
  answered_ = true;
  const std::int64_t deadline_ns = MonotonicNs() + limits_.write_ns;
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t count = send(fd_, bytes + sent, size - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (!Again() || !Await(POLLOUT, deadline_ns)) {
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

void RequestStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void RequestStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace murmurate
