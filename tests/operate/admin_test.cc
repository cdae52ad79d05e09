#include "server/operate/admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/core/loop.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

/// A server that answers on a thread of its own.
struct Answering {
  explicit Answering(AdminServer::Answer answer)
      : server(*AdminServer::Open(context, address, std::move(answer))),
        loop(
            "admin",
            [this] {
              Socket* const sockets[] = {server.socket()};
              Poller(&wake).Wait(sockets, 20);
              server.PollOnce();
            },
            [this] { wake.Set(); }) {}
  TemporaryFolder folder;
  const std::string address = "ipc://" + folder.path() + "/admin";
  SocketContext context;
  WakeSignal wake;
  AdminServer server;
  Loop loop;
};

TEST(Admin, AnswersAQuestion) {
  Answering live([](const std::string& command) {
    return wire::AdminOk{true, "you asked " + command};
  });
  const auto answer = AskAdmin(live.address, "status", 5000);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "you asked status");
}

TEST(Admin, AnAnswerLongerThanAMessageComesWhole) {
  std::string text(3 * wire::kMaxReport, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  Answering live([&](const std::string&) { return wire::AdminOk{true, text}; });
  const auto answer = AskAdmin(live.address, "status", 5000);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, text);
}

TEST(Admin, ARefusalIsASentence) {
  Answering live([](const std::string&) { return wire::AdminOk{false, "no such question"}; });
  EXPECT_EQ(AskAdmin(live.address, "dance", 5000).status().message(), "no such question");
}

TEST(Admin, NobodyThereIsUnavailableInTime) {
  TemporaryFolder folder;
  const auto answer = AskAdmin("ipc://" + folder.path() + "/admin", "status", 50);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace murmurate
