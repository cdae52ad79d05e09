#include "tests/stream/scripted_broker.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace murmurate {

ScriptedBroker::ScriptedBroker()
    : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listening_, 16), 0);
  getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
}

ScriptedBroker::~ScriptedBroker() {
  HangUp();
  StopListening();
}

std::string ScriptedBroker::address(const std::string& scheme) const {
  return scheme + "://127.0.0.1:" + std::to_string(port_);
}

bool ScriptedBroker::Accept() {
  const int fd = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return false;
  HangUp();
  connected_ = fd;
  return true;
}

std::string ScriptedBroker::Read() {
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = recv(connected_, buffer, sizeof buffer, 0)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  return all;
}

void ScriptedBroker::Send(std::string_view bytes) {
  EXPECT_EQ(send(connected_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

void ScriptedBroker::HangUp() {
  if (connected_ >= 0) close(connected_);
  connected_ = -1;
}

void ScriptedBroker::Reset() {
  const linger at_once{1, 0};
  setsockopt(connected_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  HangUp();
}

void ScriptedBroker::StopListening() {
  if (listening_ >= 0) close(listening_);
  listening_ = -1;
}

}  // namespace murmurate
