// libzmq reports failures by exceptions, which end in this room: callers see a Status or false.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "shared/transport/socket.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(SocketFailure, ASocketTooManyIsRefusedInWords) {
  SocketContext context;
  std::vector<Socket> sockets;
  Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) {
    Result<Socket> socket = Socket::Open(context, SocketKind::kDealer);
    status = socket.status();
    if (socket.ok()) sockets.push_back(*std::move(socket));
  }
  sockets.clear();
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.message(), HasSubstr("cannot open a socket: Too many open files; raise"));
}

TEST(SocketFailure, AnAddressOfAnotherMachineIsRefusedInWords) {
  SocketContext context;
  Socket server = *Socket::Open(context, SocketKind::kRouter);
  const Status status = server.Bind("tcp://192.0.2.1:7420");  // TEST-NET-1: no machine has it
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.message(), HasSubstr("cannot listen on tcp://192.0.2.1:7420: "));
  EXPECT_THAT(status.message(), HasSubstr("expected an address of this machine"));
}

TEST(SocketFailure, AnInterruptedWaitFindsNothing) {
  struct sigaction heard {
  }, before{};
  heard.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &heard, &before), 0);
  const pthread_t waiting = pthread_self();
  std::atomic<bool> back{false};
  std::thread caller([&] {
    while (!back) {
      pthread_kill(waiting, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  WakeSignal signal;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(Poller(&signal).Wait({}, 60'000));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  back = true;
  caller.join();
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace murmurate
