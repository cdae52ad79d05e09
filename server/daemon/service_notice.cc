#include "server/daemon/service_notice.h"

#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace murmurate {
namespace {

std::optional<std::int64_t> Number(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

/// The value of a variable; "" when it is not set.
std::string ValueOf(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

}  // namespace

ServiceNotice::ServiceNotice() {
  const std::string place = ValueOf("NOTIFY_SOCKET");
  const auto interval_us = Number(ValueOf("WATCHDOG_USEC"));
  const auto watched = Number(ValueOf("WATCHDOG_PID"));
  if (place.size() < 2 || place.size() >= sizeof address_.sun_path) return;
  if (place[0] != '/' && place[0] != '@') return;
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, place.data(), place.size());
  if (place[0] == '@') address_.sun_path[0] = '\0';
  length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  if (interval_us && *interval_us > 0 && *interval_us < INT64_MAX / 1000 &&
      watched.value_or(getpid()) == getpid())
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
