// What of the samples is in a checkpoint, and who is told.
#include <gtest/gtest.h>

#include "tests/stream/sample_peers.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

TEST(SampleCommits, WhatIsCommittedIsToldToWhoSentItAndAllOfItToWhoComes) {
  ServerStage stage;
  stage.server->Commit({{"old", 9}});
  RawPeer one(stage.address(), 1), two(stage.address(), 2);
  const auto first = stage.Greet(&one);
  ASSERT_EQ(first.devices.size(), 1u);
  EXPECT_EQ(first.devices[0].device, "old");
  EXPECT_EQ(first.devices[0].sequence, 9u);
  EXPECT_TRUE(first.complete);
  stage.Greet(&two);
  ASSERT_TRUE(one.Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&one);
  ASSERT_TRUE(two.Send(SampleOf("b", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&two);
  stage.server->Commit({{"old", 9}, {"a", 1}, {"b", 2}});
  const auto told = stage.Hear<wire::SamplesCommitted>(&two);
  ASSERT_EQ(told.devices.size(), 1u);
  EXPECT_EQ(told.devices[0].device, "b");
  EXPECT_EQ(told.devices[0].sequence, 2u);
  EXPECT_EQ(stage.Hear<wire::SamplesCommitted>(&one).devices.at(0).device, "a");
}

TEST(SampleCommits, ThousandsOfCommittedDevicesAreToldInManyMessages) {
  ServerStage stage;
  SampleServer::Committed committed;
  for (std::uint64_t i = 0; i < 3000; ++i) committed.emplace_back("d" + std::to_string(i), i);
  stage.server->Commit(committed);
  RawPeer peer(stage.address());
  ASSERT_TRUE(peer.Send(wire::StreamHello{}));
  (void)stage.Hear<wire::StreamOk>(&peer);
  std::uint64_t next = 0;
  for (bool complete = false; !complete;) {
    const auto told = stage.Hear<wire::SamplesCommitted>(&peer);
    ASSERT_FALSE(told.devices.empty());
    for (const auto& [device, sequence] : told.devices) EXPECT_EQ(sequence, next++);
    complete = told.complete;
  }
  EXPECT_EQ(next, 3000u);
  EXPECT_FALSE(stage.server->has_news());
}

TEST(SampleCommits, WhoIsGoneWithoutAGoodbyeIsNoNewsForEver) {
  ServerStage stage;
  auto gone = std::make_unique<RawPeer>(stage.address(), 1);
  stage.Greet(gone.get());
  ASSERT_TRUE(gone->Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(gone.get());
  gone.reset();
  const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
  do {
    stage.server->Commit({{"a", 1}});
    stage.server->Wait(1);
    stage.Round();
    EXPECT_FALSE(stage.server->has_news());
  } while (stage.server->peers() > 0 && MonotonicNs() < end_ns);
  EXPECT_EQ(stage.server->peers(), 0u);
}

TEST(SampleCommits, WhoDoesNotReadIsNoNewsUntilTheNextSecond) {
  constexpr std::uint64_t kCommits = 20'000;  // more than the queues and the socket hold
  const std::string device(60, 'd');
  ServerStage stage;
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  ASSERT_TRUE(peer.Send(SampleOf(device, 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&peer);
  for (std::uint64_t i = 1; i <= kCommits; ++i) {
    stage.server->Commit({{device, i}});
    stage.server->EndRound();
    ASSERT_FALSE(stage.server->has_news()) << i;
  }
  std::uint64_t heard = 0, last = 0;
  for (; last != kCommits; ++heard) {
    const auto told = peer.Hear([&] {
      stage.now_ns += kSecond / 20;
      stage.Round();
    });
    ASSERT_TRUE(told && std::holds_alternative<wire::SamplesCommitted>(told->body));
    last = std::get<wire::SamplesCommitted>(told->body).devices.at(0).sequence;
  }
  EXPECT_LT(heard, kCommits) << "its queue was never full";
}

TEST(SampleCommits, WhoSendsAgainWhatIsKnownIsToldThatItIsCommitted) {
  ServerStage stage;
  RawPeer before(stage.address(), 1), after(stage.address(), 1);
  stage.Greet(&before);
  ASSERT_TRUE(before.Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&before);
  stage.take = [](const Sample&) { return SampleOutcome{Refusal::kDuplicate}; };
  stage.Greet(&after);
  ASSERT_TRUE(after.Send(SampleOf("a", 1, 1), 1));
  EXPECT_EQ(stage.Hear<wire::Refused>(&after).word, "duplicate");
  stage.server->Commit({{"a", 1}});
  EXPECT_EQ(stage.Hear<wire::SamplesCommitted>(&after).devices.at(0).sequence, 1u);
}

}  // namespace
}  // namespace murmurate
