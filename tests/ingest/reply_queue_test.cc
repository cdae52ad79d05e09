#include "server/ingest/reply_queue.h"

#include "tests/ingest/stage.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Reply = wire::ServerSession::Reply;

/// A ROUTER and a peer that never reads.
struct StuckPeer {
  StuckPeer() {
    SocketOptions options;
    options.high_water_mark = 4;
    router.emplace(*Socket::Open(context, SocketKind::kRouter, options));
    EXPECT_TRUE(router->Bind("tcp://127.0.0.1:*").ok());
    dealer.emplace(*Socket::Open(context, SocketKind::kDealer, options));
    EXPECT_TRUE(dealer->Connect(router->BoundAddress()).ok());
    Message hello;
    const std::byte byte{1};
    hello.frames.emplace_back(std::span(&byte, 1));
    const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
    while (dealer->TrySend(hello) != SendOutcome::kSent && MonotonicNs() < deadline) {
    }
    Message heard;
    while (!router->TryReceive(&heard) && MonotonicNs() < deadline) {
    }
    peer = heard.peer;
    reply_queue.emplace(&*router, 77);
  }

  /// Sends until the peer's queues are full and one reply is parked.
  bool FillUp(const wire::Body& body) {
    for (int i = 0; i < 200000 && reply_queue->pending() == 0; ++i) {
      EXPECT_THAT(reply_queue->Send({Reply{peer, body, 0}}).gone, IsEmpty());
    }
    return reply_queue->pending() == 1;
  }

  SocketContext context;
  std::optional<Socket> router, dealer;
  std::optional<ReplyQueue> reply_queue;
  std::string peer;
};

wire::Accepted AcceptedUpTo(std::uint64_t sequence) {
  wire::Accepted accepted;
  accepted.sequence = sequence;
  return accepted;
}

wire::Body LongError() { return wire::Error{wire::Refusal::kBusy, std::string(2000, 'x'), 1}; }

TEST(ReplyQueue, TheNewestTotalsSupersedeOlderOnesForAPeerThatDoesNotRead) {
  StuckPeer stuck_peer;
  ASSERT_TRUE(stuck_peer.FillUp(AcceptedUpTo(1)));
  for (std::uint64_t i = 2; i < 100; ++i) {
    EXPECT_THAT(stuck_peer.reply_queue->Send({Reply{stuck_peer.peer, AcceptedUpTo(i), 0}}).stuck,
                IsEmpty());
  }
  EXPECT_THAT(stuck_peer.reply_queue->Send({Reply{stuck_peer.peer, wire::Pong{}, 0}}).stuck,
              IsEmpty());
  // None where ZeroMQ's threads found room for it after all.
  EXPECT_LE(stuck_peer.reply_queue->pending(), 1u);

  std::uint64_t newest = 0;
  const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
  while (newest != 99 && MonotonicNs() < deadline) {
    (void)stuck_peer.reply_queue->Send({});
    Message message;
    if (!stuck_peer.dealer->TryReceive(&message)) continue;
    const std::span<const std::byte> frames[] = {message.frames[0].bytes(),
                                                 message.frames[1].bytes()};
    const auto decoded = wire::Decode(frames);
    const auto* accepted = std::get_if<wire::Accepted>(&std::get<wire::Decoded>(decoded).body);
    ASSERT_NE(accepted, nullptr);
    EXPECT_GE(accepted->sequence, newest);
    newest = accepted->sequence;
  }
  EXPECT_EQ(newest, 99u);
}

TEST(ReplyQueue, APeerThatReadsNothingIsGivenUpAndStopsNobody) {
  StuckPeer stuck_peer;
  ASSERT_TRUE(stuck_peer.FillUp(LongError()));
  std::vector<std::string> given_up;
  for (int i = 0; i < 200000 && given_up.empty(); ++i) {  // there may be room once more
    given_up = stuck_peer.reply_queue->Send({Reply{stuck_peer.peer, LongError(), 0}}).stuck;
  }
  EXPECT_THAT(given_up, ElementsAre(stuck_peer.peer));
  EXPECT_EQ(stuck_peer.reply_queue->pending(), 0u);
}

TEST(ReplyQueue, APeerThatIsGoneIsNamed) {
  StuckPeer stuck_peer;
  EXPECT_THAT(stuck_peer.reply_queue->Send({Reply{"nobody", wire::Pong{}, 0}}).gone,
              ElementsAre("nobody"));
}

}  // namespace
}  // namespace murmurate
