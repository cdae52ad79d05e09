// What this room is on Windows today: tcp alone. Shared memory and ipc are refused in words, and
// the client takes weights over the network. Who brings them writes them here.
#include <winsock2.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "shared/core/check.h"
#include "shared/transport/shared_segment.h"
#include "shared/transport/socket.h"
#include "shared/transport/unix_listener.h"
#include "shared/transport/wakeup.h"

namespace murmurate {
namespace {

constexpr char kNoSharedMemory[] = "there is no shared memory with a learner on Windows yet";

/// A datagram socket that is its own peer: libzmq polls sockets and nothing else. (A SOCKET has 32
/// significant bits, as every handle.)
int LoopbackSocket() {
  WSADATA ignored;
  MURMURATE_CHECK(WSAStartup(MAKEWORD(2, 2), &ignored) == 0, "Windows has no sockets to give");
  const SOCKET made = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int bytes = sizeof(address);
  u_long nonblocking = 1;
  const bool good = made != INVALID_SOCKET &&
                    bind(made, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                    getsockname(made, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
                    connect(made, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                    ioctlsocket(made, FIONBIO, &nonblocking) == 0;
  MURMURATE_CHECK(good, "no loopback socket: is 127.0.0.1 blocked on this machine?");
  return static_cast<int>(made);
}

std::mutex futex_mutex;
std::condition_variable futex_woken;

}  // namespace

WakeSignal::WakeSignal() : fd_(LoopbackSocket()) {}

WakeSignal::~WakeSignal() {
  closesocket(static_cast<SOCKET>(fd_));
  WSACleanup();
}

void WakeSignal::Set() const { (void)send(static_cast<SOCKET>(fd_), "", 1, 0); }

void WakeSignal::Clear() const {
  char ignored;
  while (recv(static_cast<SOCKET>(fd_), &ignored, 1, 0) > 0) {
  }
}

// Words of this process only, so one condition for all of them will do.
void WaitForAny(std::span<const FutexWait> waits, int timeout_ms) {
  std::unique_lock lock(futex_mutex);
  futex_woken.wait_for(lock, std::chrono::milliseconds(timeout_ms), [waits] {
    return std::any_of(waits.begin(), waits.end(), [](const FutexWait& wait) {
      return wait.word->load(std::memory_order_acquire) != wait.seen;
    });
  });
}

void WakeAll(FutexWord*) {
  { const std::lock_guard lock(futex_mutex); }  // a thread that checks has done so, or sleeps
  futex_woken.notify_all();
}

struct SharedSegment::Mapping {};

Result<SharedSegment> SharedSegment::OpenReadOnly(const std::string& name) {
  return Unavailable("cannot open shared memory " + name + ": " + kNoSharedMemory);
}

SharedSegment::SharedSegment(SharedSegment&&) noexcept = default;
SharedSegment& SharedSegment::operator=(SharedSegment&&) noexcept = default;
SharedSegment::~SharedSegment() = default;
void SharedSegment::LetGo(std::size_t) const {}

bool IsAlive(const ProcessIdentity&) { return false; }

std::uint64_t HostIdentity() { return 0; }  // no learner's

Result<UnixListener> UnixListener::Open(const std::string& path) {
  return InvalidArgument("cannot listen on ipc://" + path +
                         ": expected tcp://HOST:PORT, the only way on Windows yet");
}

UnixListener::UnixListener(UnixListener&& other) noexcept = default;
UnixListener::~UnixListener() = default;
int UnixListener::ReceiveDescriptor() { return std::exchange(fd_, -1); }

Result<std::unique_ptr<WakeupReceiver>> WakeupReceiver::Open(std::uint64_t number) {
  return Unavailable("bell " + std::to_string(number) + ": " + kNoSharedMemory);
}

WakeupReceiver::~WakeupReceiver() = default;
void WakeupReceiver::Clear() const {}

}  // namespace murmurate
