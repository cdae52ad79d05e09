#include "server/daemon/service_notice.h"

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace murmurate {
namespace {

std::optional<std::int64_t> NumberIn(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::strlen(text);
  std::int64_t number = 0;
  const auto read = std::from_chars(text, end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

ServiceNotice::ServiceNotice() {
  const char* const named = std::getenv("NOTIFY_SOCKET");
  const std::string_view place(named == nullptr ? "" : named);
  if (place.size() < 2 || place.size() >= sizeof address_.sun_path) return;
  if (place[0] != '/' && place[0] != '@') return;
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, place.data(), place.size());
  if (place[0] == '@') address_.sun_path[0] = '\0';
  length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  const auto interval_us = NumberIn("WATCHDOG_USEC");
  if (interval_us && *interval_us > 0 && *interval_us < INT64_MAX / 1000 &&
      NumberIn("WATCHDOG_PID").value_or(getpid()) == getpid())
    watchdog_ns_ = *interval_us * 1000;
}

ServiceNotice::~ServiceNotice() {
  if (fd_ >= 0) close(fd_);
}

void ServiceNotice::Send(const std::string& lines) const {
  if (fd_ < 0) return;
  (void)sendto(fd_, lines.data(), lines.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address_), length_);
}

}  // namespace murmurate
