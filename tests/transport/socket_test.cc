#include "shared/transport/socket.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kDeadlineNs = 5 * kNanosecondsPerSecond;

Frame FrameOf(std::string_view text) { return Frame(std::as_bytes(std::span(text))); }

std::string TextOf(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes().data()), frame.bytes().size()};
}

std::vector<Frame> Frames(std::initializer_list<std::string_view> texts) {
  std::vector<Frame> frames;
  for (const std::string_view text : texts) frames.push_back(FrameOf(text));
  return frames;
}

/// Polls until `done`, at most five seconds.
template <typename Condition>
bool Eventually(Socket& socket, Condition done) {
  Poller poller(nullptr);
  for (const std::int64_t end = MonotonicNs() + kDeadlineNs; MonotonicNs() < end;) {
    if (done()) return true;
    Socket* const sockets[] = {&socket};
    poller.Wait(sockets, 5);
  }
  return done();
}

bool Receive(Socket& socket, Message* message) {
  return Eventually(socket, [&] { return socket.TryReceive(message); });
}

bool Send(Socket& socket, Message message) {
  return Eventually(socket, [&] { return socket.TrySend(message) == SendOutcome::kSent; });
}

class SocketTest : public testing::Test {
 protected:
  SocketTest() : folder_("/tmp/mmr-test-" + std::to_string(getpid())) {
    mkdir(folder_.c_str(), 0700);
  }
  ~SocketTest() override { rmdir(folder_.c_str()); }

  Socket Open(SocketKind kind, const SocketOptions& options = {}) {
    Result<Socket> socket = Socket::Open(context_, kind, options);
    EXPECT_TRUE(socket.ok()) << socket.status();
    return *std::move(socket);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Ipc(const std::string& name) const { return "ipc://" + Path(name); }

  std::string folder_;
  SocketContext context_;
};

class EveryTransport : public SocketTest, public testing::WithParamInterface<const char*> {
 protected:
  std::string Address() const {
    return std::string(GetParam()) == "ipc" ? Ipc("main") : "tcp://127.0.0.1:*";
  }
};

TEST_P(EveryTransport, MessagesTravelWholeAndBothWays) {
  Socket server = Open(SocketKind::kRouter), client = Open(SocketKind::kDealer);
  ASSERT_TRUE(server.Bind(Address()).ok());
  ASSERT_TRUE(client.Connect(server.BoundAddress()).ok());
  ASSERT_TRUE(Send(client, {"", Frames({"header", "metadata", std::string(300'000, 'x')})}));
  Message got;
  ASSERT_TRUE(Receive(server, &got));
  ASSERT_EQ(got.frames.size(), 3u);
  EXPECT_EQ(TextOf(got.frames[0]), "header");
  EXPECT_EQ(TextOf(got.frames[1]), "metadata");
  EXPECT_EQ(TextOf(got.frames[2]), std::string(300'000, 'x'));
  Message answer{got.peer, Frames({"answer", ""})};
  ASSERT_EQ(server.TrySend(answer), SendOutcome::kSent);
  ASSERT_TRUE(Receive(client, &got));
  ASSERT_EQ(got.frames.size(), 2u);
  EXPECT_EQ(TextOf(got.frames[0]), "answer");
  EXPECT_TRUE(got.frames[1].bytes().empty());
  EXPECT_FALSE(client.TryReceive(&got));
}

TEST_P(EveryTransport, ClientsMayConnectBeforeTheServerIsThere) {
  const std::string address = std::string(GetParam()) == "ipc" ? Ipc("late") : [] {
    SocketContext context;
    Socket probe = *Socket::Open(context, SocketKind::kRouter);
    EXPECT_TRUE(probe.Bind("tcp://127.0.0.1:*").ok());
    return probe.BoundAddress();
  }();
  Socket client = Open(SocketKind::kDealer);
  ASSERT_TRUE(client.Connect(address).ok());
  Message early{"", Frames({"early"})};
  EXPECT_EQ(client.TrySend(early), SendOutcome::kWouldBlock);
  EXPECT_EQ(TextOf(early.frames.at(0)), "early");
  Socket server = Open(SocketKind::kRouter);
  ASSERT_TRUE(server.Bind(address).ok());
  ASSERT_TRUE(Send(client, std::move(early)));
  Message got;
  ASSERT_TRUE(Receive(server, &got));
}

TEST_P(EveryTransport, StalledPeerBlocksAndNothingIsLostSilently) {
  Socket server = Open(SocketKind::kRouter), client = Open(SocketKind::kDealer);
  ASSERT_TRUE(server.Bind(Address()).ok());
  ASSERT_TRUE(client.Connect(server.BoundAddress()).ok());
  ASSERT_TRUE(Send(client, {"", Frames({"hello"})}));
  Message got;
  ASSERT_TRUE(Receive(server, &got));
  const std::string body(64 * 1024, 'b');
  int sent = 0;
  SendOutcome outcome = SendOutcome::kSent;
  for (const std::int64_t end = MonotonicNs() + kDeadlineNs; MonotonicNs() < end;) {
    Message message{got.peer, Frames({std::to_string(sent), body})};
    outcome = server.TrySend(message);
    if (outcome != SendOutcome::kSent) {
      EXPECT_EQ(message.frames.size(), 2u);
      break;
    }
    ++sent;
  }
  ASSERT_EQ(outcome, SendOutcome::kWouldBlock);
  for (int i = 0; i < sent; ++i) {
    ASSERT_TRUE(Receive(client, &got)) << i;
    ASSERT_EQ(TextOf(got.frames.at(0)), std::to_string(i));
  }
}

TEST_P(EveryTransport, UnknownPeerIsNamedSo) {
  Socket server = Open(SocketKind::kRouter);
  ASSERT_TRUE(server.Bind(Address()).ok());
  Message message{"nobody", Frames({"x"})};
  EXPECT_EQ(server.TrySend(message), SendOutcome::kNoPeer);
  EXPECT_EQ(message.frames.size(), 1u);
}

TEST_P(EveryTransport, HugeMessageDisconnectsItsSenderOnly) {
  SocketOptions small;
  small.max_message_bytes = 1024;
  Socket server = Open(SocketKind::kRouter, small);
  Socket rude = Open(SocketKind::kDealer), polite = Open(SocketKind::kDealer);
  ASSERT_TRUE(server.Bind(Address()).ok());
  ASSERT_TRUE(rude.Connect(server.BoundAddress()).ok());
  ASSERT_TRUE(polite.Connect(server.BoundAddress()).ok());
  Message got;
  ASSERT_TRUE(Send(rude, {"", Frames({"hello"})}));
  ASSERT_TRUE(Receive(server, &got));
  const PeerId rude_peer = got.peer;
  ASSERT_TRUE(Send(rude, {"", Frames({std::string(4096, 'x')})}));
  ASSERT_TRUE(Eventually(server, [&] {
    Message probe{rude_peer, Frames({"still there?"})};
    return server.TrySend(probe) == SendOutcome::kNoPeer;
  }));
  ASSERT_TRUE(Send(polite, {"", Frames({"me"})}));
  ASSERT_TRUE(Receive(server, &got));
  EXPECT_EQ(TextOf(got.frames.at(0)), "me");
}

TEST_P(EveryTransport, FramesBeyondTheEighthAreThrownAway) {
  Socket server = Open(SocketKind::kRouter), client = Open(SocketKind::kDealer);
  ASSERT_TRUE(server.Bind(Address()).ok());
  ASSERT_TRUE(client.Connect(server.BoundAddress()).ok());
  std::vector<Frame> many;
  for (int i = 0; i < 1000; ++i) many.push_back(FrameOf("x"));
  ASSERT_TRUE(Send(client, {"", std::move(many)}));
  ASSERT_TRUE(Send(client, {"", Frames({"next"})}));
  Message got;
  ASSERT_TRUE(Receive(server, &got));
  EXPECT_EQ(got.frames.size(), Socket::kMaxFrames);
  ASSERT_TRUE(Receive(server, &got));
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(TextOf(got.frames[0]), "next");
}

TEST_P(EveryTransport, ZeroCopyBlocksComeBackExactlyOnce) {
  std::vector<std::byte> block(300'000, std::byte{7});
  std::atomic<int> sent_back{0}, unsent_back{0};
  {
    SocketContext context;
    Socket server = *Socket::Open(context, SocketKind::kRouter);
    Socket client = *Socket::Open(context, SocketKind::kDealer);
    ASSERT_TRUE(server.Bind(Address()).ok());
    ASSERT_TRUE(client.Connect(server.BoundAddress()).ok());
    Message message;
    message.frames.push_back(FrameOf("header"));
    message.frames.emplace_back(block, [&] { ++sent_back; });
    ASSERT_TRUE(Send(client, std::move(message)));
    Message got;
    ASSERT_TRUE(Receive(server, &got));
    EXPECT_EQ(got.frames.at(1).bytes().size(), block.size());
    EXPECT_EQ(got.frames.at(1).bytes()[299'999], std::byte{7});
    ASSERT_TRUE(Eventually(server, [&] { return sent_back == 1; }));
    Socket lonely = *Socket::Open(context, SocketKind::kDealer);
    Message refused;
    refused.frames.emplace_back(block, [&] { ++unsent_back; });
    EXPECT_EQ(lonely.TrySend(refused), SendOutcome::kWouldBlock);
    EXPECT_EQ(unsent_back, 0);
  }
  EXPECT_EQ(sent_back, 1);
  EXPECT_EQ(unsent_back, 1);
}

TEST_P(EveryTransport, BlocksStillUnsentComeBackWhenTheContextEnds) {
  std::vector<std::byte> block(1 << 20);
  std::atomic<int> back{0};
  int sent = 0;
  {
    SocketContext context;
    Socket server = *Socket::Open(context, SocketKind::kRouter);
    Socket client = *Socket::Open(context, SocketKind::kDealer);
    ASSERT_TRUE(server.Bind(Address()).ok());
    ASSERT_TRUE(client.Connect(server.BoundAddress()).ok());
    ASSERT_TRUE(Send(client, {"", Frames({"hello"})}));
    for (;;) {
      Message message;
      message.frames.emplace_back(block, [&] { ++back; });
      if (client.TrySend(message) != SendOutcome::kSent) break;
      ++sent;
    }
    --back;  // the refused one's
  }
  EXPECT_GT(sent, 0);
  EXPECT_EQ(back, sent);
}

TEST_P(EveryTransport, SecondListenerIsRefusedAndTheFirstGoesOn) {
  Socket first = Open(SocketKind::kRouter), second = Open(SocketKind::kRouter);
  ASSERT_TRUE(first.Bind(Address()).ok());
  const Status status = second.Bind(first.BoundAddress());
  EXPECT_EQ(status.code(), StatusCode::kAlreadyRunning);
  EXPECT_THAT(status.message(), HasSubstr("another program listens on " + first.BoundAddress()));
  EXPECT_THAT(status.message(), HasSubstr("server.listen"));
  Socket client = Open(SocketKind::kDealer);
  ASSERT_TRUE(client.Connect(first.BoundAddress()).ok());
  ASSERT_TRUE(Send(client, {"", Frames({"hello"})}));
  Message got;
  EXPECT_TRUE(Receive(first, &got));
}

TEST_P(EveryTransport, AnAddressCanBeBoundAgainAtOnceAfterItsSocketIsGone) {
  std::string address = Address();
  for (int i = 0; i < 3; ++i) {
    Socket server = Open(SocketKind::kRouter), client = Open(SocketKind::kDealer);
    const Status status = server.Bind(address);
    ASSERT_TRUE(status.ok()) << status;
    address = server.BoundAddress();
    ASSERT_TRUE(client.Connect(address).ok());
    ASSERT_TRUE(Send(client, {"", Frames({"hello"})}));
    Message got;
    ASSERT_TRUE(Receive(server, &got));
  }
}

TEST_P(EveryTransport, ConflatedSubscriberSeesTheNewestOfItsPrefix) {
  SocketOptions newest;
  newest.conflate = true;
  newest.subscription = "a";
  Socket publisher = Open(SocketKind::kPublisher),
         subscriber = Open(SocketKind::kSubscriber, newest);
  ASSERT_TRUE(publisher.Bind(Address()).ok());
  ASSERT_TRUE(subscriber.Connect(publisher.BoundAddress()).ok());
  Message got;
  Socket* const sockets[] = {&subscriber};
  bool joined = false;
  for (int i = 0; i < 100 && !joined; ++i) {  // few, that the queue of 64 has room for what follows
    Message message{"", Frames({"a-joined"})};
    (void)publisher.TrySend(message);
    joined = Poller(nullptr).Wait(sockets, 50) && subscriber.TryReceive(&got);
  }
  ASSERT_TRUE(joined);
  for (int i = 0; i < 50; ++i) {
    Message mine{"", Frames({"a" + std::to_string(i)})}, other{"", Frames({"b"})};
    EXPECT_EQ(publisher.TrySend(mine), SendOutcome::kSent);
    EXPECT_EQ(publisher.TrySend(other), SendOutcome::kSent);
  }
  ASSERT_TRUE(Eventually(subscriber, [&] {
    return subscriber.TryReceive(&got) && TextOf(got.frames.at(0)) == "a49";
  }));
  EXPECT_FALSE(subscriber.TryReceive(&got));
}

INSTANTIATE_TEST_SUITE_P(, EveryTransport, testing::Values("ipc", "tcp"),
                         [](const auto& transport) { return std::string(transport.param); });

TEST_F(SocketTest, StaleSocketFileIsReplaced) {
  const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, Path("stale").c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(dead);
  Socket server = Open(SocketKind::kRouter);
  const Status status = server.Bind(Ipc("stale"));
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(SocketTest, SocketFileIsPrivateAndRemovedAtClose) {
  {
    Socket server = Open(SocketKind::kRouter);
    ASSERT_TRUE(server.Bind(Ipc("private")).ok());
    struct stat file {};
    ASSERT_EQ(stat(Path("private").c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u);
  }
  EXPECT_NE(access(Path("private").c_str(), F_OK), 0);
}

TEST_F(SocketTest, FileThatIsNoSocketIsNeverReplaced) {
  FILE* file = fopen(Path("precious").c_str(), "w");
  ASSERT_NE(file, nullptr);
  fclose(file);
  Socket server = Open(SocketKind::kRouter);
  const Status status = server.Bind(Ipc("precious"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no socket"));
  EXPECT_EQ(unlink(Path("precious").c_str()), 0);
}

TEST_F(SocketTest, OneSocketListensOnSeveralAddresses) {
  Socket server = Open(SocketKind::kRouter);
  ASSERT_TRUE(server.Bind(Ipc("several")).ok());
  ASSERT_TRUE(server.Bind("tcp://127.0.0.1:*").ok());
  for (const std::string& address : {Ipc("several"), server.BoundAddress()}) {
    Socket client = Open(SocketKind::kDealer);
    ASSERT_TRUE(client.Connect(address).ok());
    ASSERT_TRUE(Send(client, {"", Frames({"hello"})}));
    Message got;
    ASSERT_TRUE(Receive(server, &got)) << address;
  }
}

TEST_F(SocketTest, GarbageOnThePortHurtsNobody) {
  Socket server = Open(SocketKind::kRouter), client = Open(SocketKind::kDealer);
  ASSERT_TRUE(server.Bind("tcp://127.0.0.1:*").ok());
  const std::string bound = server.BoundAddress();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(bound.substr(bound.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::uint32_t noise = 12345;
  for (int i = 0; i < 200; ++i) {
    const int raw = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(raw, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    std::vector<std::uint8_t> bytes(1 + i * 7);
    for (std::uint8_t& byte : bytes) byte = (noise = noise * 1664525 + 1013904223) >> 24;
    if (i % 3 == 0) {  // a ZMTP greeting, then noise: gets past the first check
      const std::uint8_t greeting[] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                       1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
      bytes.resize(std::max<std::size_t>(bytes.size(), 80));
      std::copy(std::begin(greeting), std::end(greeting), bytes.begin());
      std::fill(bytes.begin() + sizeof(greeting), bytes.begin() + 64, std::uint8_t{0});
    }
    (void)!send(raw, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(raw);
  }
  ASSERT_TRUE(client.Connect(bound).ok());
  ASSERT_TRUE(Send(client, {"", Frames({"honest"})}));
  // What looks like a message comes in as one: refusing it is the decoder's work.
  EXPECT_TRUE(Eventually(server, [&] {
    Message got;
    return server.TryReceive(&got) && got.frames.size() == 1 && TextOf(got.frames[0]) == "honest";
  }));
}

}  // namespace
}  // namespace murmurate
