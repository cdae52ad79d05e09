#include "server/measure/message_echo.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "server/measure/bench_address.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kLongestWaitMs = 5000;

/// All bytes, whatever parts they come in; false when the other end was closed.
bool ReadAll(int fd, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = read(fd, into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

void EchoPlainly(int fd, std::size_t size) {
  std::vector<std::byte> bytes(size);
  while (ReadAll(fd, bytes) && WriteAll(fd, bytes)) continue;
}

}  // namespace

struct MessageEcho::Sockets {
  ~Sockets() {
    for (const int fd : plain)
      if (fd >= 0) close(fd);
  }
  SocketContext context;
  std::optional<Socket> router, dealer;
  WakeSignal wake;
  std::array<int, 2> plain = {-1, -1};
};

Result<std::unique_ptr<MessageEcho>> MessageEcho::Make() {
  const auto address = BenchAddress("bench-echo");
  if (!address.ok()) return address.status();
  auto sockets = std::make_unique<Sockets>();
  auto router = Socket::Open(sockets->context, SocketKind::kRouter);
  if (!router.ok()) return router.status();
  MURMURATE_RETURN_IF_ERROR(router->Bind(*address));
  auto dealer = Socket::Open(sockets->context, SocketKind::kDealer);
  if (!dealer.ok()) return dealer.status();
  MURMURATE_RETURN_IF_ERROR(dealer->Connect(*address));
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets->plain.data()) != 0)
    return ResourceError(std::string("no socket for the bench: ") + std::strerror(errno) +
                         "; raise the limit of open files (ulimit -n)");
  sockets->router = *std::move(router);
  sockets->dealer = *std::move(dealer);
  return std::unique_ptr<MessageEcho>(new MessageEcho(std::move(sockets)));
}

MessageEcho::MessageEcho(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {
  echo_ = std::make_unique<Loop>(
      "bench-echo", [this] { EchoOnce(); }, [this] { sockets_->wake.Set(); });
  plain_echo_ = std::thread(EchoPlainly, sockets_->plain[1], kBytes);
}

MessageEcho::~MessageEcho() {
  echo_.reset();
  shutdown(sockets_->plain[0], SHUT_RDWR);
  plain_echo_.join();
}

void MessageEcho::EchoOnce() {
  Socket* const router = &*sockets_->router;
  Poller(&sockets_->wake).Wait({&router, 1}, 1000);
  Message message;
  while (router->TryReceive(&message)) (void)router->TrySend(message);
}

void MessageEcho::Exchange() {
  Socket* const dealer = &*sockets_->dealer;
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(bytes_));
  // The first one waits for the connection.
  for (int waited_ms = 0; dealer->TrySend(message) != SendOutcome::kSent; ++waited_ms) {
    MURMURATE_CHECK(waited_ms < kLongestWaitMs, "a socket of this process connects");
    usleep(1000);
  }
  Message back;
  Poller poller(nullptr);
  while (!dealer->TryReceive(&back))
    MURMURATE_CHECK(poller.Wait({&dealer, 1}, kLongestWaitMs), "the message comes back");
}

void MessageEcho::PlainExchange() {
  const bool back = WriteAll(sockets_->plain[0], bytes_) && ReadAll(sockets_->plain[0], bytes_);
  MURMURATE_CHECK(back, "the message comes back");
}

}  // namespace murmurate
