// Blocks through shared memory: who may write when, and what happens to what comes late.
#include "server/parameters/shard_segment.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "server/parameters/shard_link.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

using testing::Each;
using testing::HasSubstr;

/// A worker that says what it is told to, beside a shard that nobody else runs.
class Talk : public testing::Test {
 protected:
  Talk() {
    ParameterServerOptions options;
    options.settings = [settings = PlainAsgd()](const std::string&) { return settings; };
    options.address = address_;
    auto server = ParameterServer::Open(context_, options);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    auto socket = Socket::Open(context_, SocketKind::kDealer);
    EXPECT_TRUE(socket.ok() && socket->Connect(address_).ok());
    socket_.emplace(*std::move(socket));
  }

  wire::Join JoinWith(const ShardSegment& segment) const {
    wire::Join join = JoinOf(SmallSpec(), PlainAsgd());
    join.host = HostIdentity();
    join.segment = segment.name();
    return join;
  }

  void Send(const wire::Body& body, std::span<const float> block = {}, std::uint64_t sender = 77) {
    const auto bytes = std::as_bytes(block);
    const wire::Encoded encoded = wire::Encode(body, sender, 0, bytes.size());
    const bool has_block = std::holds_alternative<wire::Push>(body);
    const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
    while (MonotonicNs() < deadline_ns) {
      Message message;
      message.frames.emplace_back(std::span<const std::byte>(encoded.header));
      message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
      if (has_block) message.frames.emplace_back(bytes);
      if (socket_->TrySend(message) == SendOutcome::kSent) return;
      server_->PollOnce(1);
    }
    ADD_FAILURE() << "not sent";
  }

  wire::Body Receive() {
    Message answer;
    const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
    while (MonotonicNs() < deadline_ns) {
      server_->PollOnce(1);
      if (socket_->TryReceive(&answer)) return Decoded(answer);
    }
    ADD_FAILURE() << "no answer";
    return wire::Bye{};
  }

  wire::Body Ask(const wire::Body& body, std::span<const float> block = {},
                 std::uint64_t sender = 77) {
    Send(body, block, sender);
    return Receive();
  }

  wire::Body Decoded(const Message& message) {
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    auto decoded = wire::Decode(frames);
    EXPECT_TRUE(std::holds_alternative<wire::Decoded>(decoded));
    block_bytes_ = std::get<wire::Decoded>(decoded).block.size();
    return std::get<wire::Decoded>(decoded).body;
  }

  /// Puts a push into the segment, and waits for the answer there; slot 0: there was none.
  CenterInSlot Push(ShardSegment& segment, const PushInSlot& push) {
    segment.Put(push);
    const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
    while (MonotonicNs() < deadline_ns) {
      server_->PollOnce(1);
      if (const auto answer = segment.Answered(push.push.turn)) return *answer;
    }
    ADD_FAILURE() << "no answer";
    return {};
  }

  /// Joined, and the shard has `value` everywhere.
  std::shared_ptr<ShardSegment> Begun(float value) {
    auto segment = *ShardSegment::Create(floats_, 2);
    const auto joined = std::get<wire::Joined>(Ask(JoinWith(*segment)));
    answers_ = *ShardSegment::Open(joined.segment, floats_, ShardSegment::Access::kRead);
    std::ranges::fill(segment->slot(1), value);
    const auto center = Push(*segment, {{.turn = 1}, 1});
    EXPECT_THAT(answers_->slot(center.slot), Each(value));
    return segment;
  }

  const std::size_t floats_ = ParameterLayout(SmallSpec()).trained_count();
  const std::string address_ =
      "ipc://" +
      (std::filesystem::temp_directory_path() / ("mmr-talk-" + std::to_string(getpid()))).string();
  SocketContext context_;
  std::unique_ptr<ParameterServer> server_;
  std::optional<Socket> socket_;
  std::shared_ptr<ShardSegment> answers_;
  std::size_t block_bytes_ = 0;
};

TEST_F(Talk, APushIsReadInItsPlaceAndAnsweredInTheShardsSegment) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->slot(2), 2.0f);
  const auto answer = Push(*segment, {{.step = 1, .learning_rate = 0.5, .turn = 2}, 2});
  EXPECT_THAT(answers_->slot(answer.slot), Each(2.0f));  // 3 - 0.5 * 2
  EXPECT_EQ(answer.center.step, 1u);
  EXPECT_EQ(answer.center.version, 1u);
  EXPECT_TRUE(answer.center.merged);
}

TEST_F(Talk, WhatAWorkerReadsIsNotWrittenUntilItsNextPush) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->slot(2), 2.0f);
  const auto read = Push(*segment, {{.step = 1, .learning_rate = 0.5, .turn = 2}, 2});
  const std::vector<float> ones(floats_, 1.0f);
  wire::Join other = JoinOf(SmallSpec(), PlainAsgd());
  other.worker = 1;
  (void)Ask(other, {}, 78);
  for (std::uint64_t step = 1; step <= 8; ++step)
    (void)Ask(wire::Push{.step = step, .learning_rate = 0.25}, ones, 78);
  EXPECT_THAT(answers_->slot(read.slot), Each(2.0f));
  const auto next = Push(*segment, {{.step = 2, .learning_rate = 0.5, .turn = 3}, 2});
  EXPECT_THAT(answers_->slot(next.slot), Each(-1.0f));  // 2 - 8 * 0.25 - 0.5 * 2
}

TEST_F(Talk, APushThatComesLateIsPassedOver) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->slot(2), 2.0f);
  (void)Push(*segment, {{.step = 1, .learning_rate = 0.5, .turn = 9}, 2});
  const std::vector<float> ones(floats_, 1.0f);
  const auto late = wire::Push{.step = 2, .learning_rate = 0.5, .turn = 8};
  Send(late, ones);
  segment->Put({late, 1});
  const wire::Body answer = Ask(JoinWith(*segment));  // of this, after it
  EXPECT_TRUE(std::holds_alternative<wire::Joined>(answer));
  EXPECT_FALSE(segment->Answered(8));
  EXPECT_EQ(server_->Find("default")->version(), 1u);
}

TEST_F(Talk, WhatLiesInASegmentThatIsMappedOnlyNowIsPassedOver) {
  const auto segment = *ShardSegment::Create(floats_, 1);
  const std::vector<float> ones(floats_, 1.0f);
  wire::Join other = JoinOf(SmallSpec(), PlainAsgd());
  other.worker = 1;
  (void)Ask(other, {}, 78);
  (void)Ask(wire::Push{}, ones, 78);
  segment->Put({{.step = 10, .learning_rate = 0.5, .turn = 12}, 1});  // to the shard that died
  (void)Ask(JoinWith(*segment));
  server_->PollOnce(0);
  EXPECT_EQ(server_->Find("default")->version(), 0u);
  (void)Push(*segment, {{.step = 9, .learning_rate = 0.5, .turn = 13}, 1});
  EXPECT_EQ(server_->Find("default")->version(), 1u);
}

TEST_F(Talk, OneThatWasKeptIsMergedAndItsAnswerHasNoBlock) {
  const auto segment = Begun(3.0f);
  const std::vector<float> twos(floats_, 2.0f);
  const auto answer = Ask(wire::Push{.step = 1, .learning_rate = 0.5}, twos);
  EXPECT_EQ(std::get<wire::Center>(answer).step, 1u);
  EXPECT_EQ(block_bytes_, 0u);
  EXPECT_THAT(server_->Find("default")->center(), Each(2.0f));
}

TEST_F(Talk, ABlockThatFoundNoPlaceMayComeInAMessageAndIsAnsweredInTheSegment) {
  const auto segment = Begun(3.0f);
  const std::vector<float> twos(floats_, 2.0f);
  Send(wire::Push{.step = 1, .learning_rate = 0.5, .turn = 2}, twos);
  const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
  while (!segment->Answered(2) && MonotonicNs() < deadline_ns) server_->PollOnce(1);
  ASSERT_TRUE(segment->Answered(2));
  EXPECT_THAT(answers_->slot(segment->Answered(2)->slot), Each(2.0f));
}

TEST_F(Talk, ARateThatIsNoneIsRefusedInTheSegmentAsInAMessage) {
  const auto segment = Begun(3.0f);
  segment->Put({{.step = 1, .learning_rate = std::nan(""), .turn = 2}, 1});
  const wire::Body answer = Receive();
  ASSERT_TRUE(std::holds_alternative<wire::Error>(answer));
  EXPECT_THAT(std::get<wire::Error>(answer).sentence, HasSubstr("from 0 to a million"));
  EXPECT_EQ(server_->Find("default")->version(), 0u);
}

TEST_F(Talk, WhoIsOfAnotherHostGetsBlocksInMessages) {
  const auto segment = *ShardSegment::Create(floats_, 1);
  wire::Join join = JoinWith(*segment);
  ++join.host;
  EXPECT_EQ(std::get<wire::Joined>(Ask(join)).segment, "");
  const std::vector<float> parameters(floats_, 4.0f);
  EXPECT_TRUE(std::holds_alternative<wire::Center>(Ask(wire::Push{}, parameters)));
  EXPECT_EQ(block_bytes_, floats_ * sizeof(float));
}

TEST_F(Talk, WhatDoesNotFitIsNotMapped) {
  const auto small = *ShardSegment::Create(floats_ - 1, 1);
  EXPECT_EQ(std::get<wire::Joined>(Ask(JoinWith(*small))).segment, "");
  wire::Join join = JoinWith(*small);
  join.segment = "/murmurate-nothing";
  EXPECT_EQ(std::get<wire::Joined>(Ask(join)).segment, "");
}

TEST_F(Talk, APlaceThatTheSegmentLacksSendsTheWorkerBackToJoin) {
  const auto segment = Begun(3.0f);
  segment->Put({{.step = 1, .turn = 2}, 3});
  const wire::Body answer = Receive();
  ASSERT_TRUE(std::holds_alternative<wire::Error>(answer));
  EXPECT_EQ(std::get<wire::Error>(answer).refusal, wire::Refusal::kNotRegistered);
  EXPECT_THAT(server_->Find("default")->center(), Each(3.0f));
}

/// Each worker holds the answer that it reads, so sooner or later there is no slot for another.
TEST_F(Talk, AnAnswerThatFindsNoPlaceSendsTheWorkerToItsMessages) {
  const auto first = Begun(3.0f);
  std::vector<std::shared_ptr<ShardSegment>> workers;
  CenterInSlot answer{{}, 1};
  while (answer.slot != 0 && workers.size() < 100) {
    workers.push_back(*ShardSegment::Create(floats_, 1));
    wire::Join join = JoinWith(*workers.back());
    join.worker = static_cast<std::uint32_t>(workers.size());
    (void)Ask(join, {}, 100 + workers.size());
    std::ranges::fill(workers.back()->slot(1), 1.0f);
    answer = Push(*workers.back(), {{.step = 1, .learning_rate = 0.25, .turn = 1}, 1});
  }
  EXPECT_EQ(answer.slot, 0u);
  EXPECT_GT(workers.size(), 16u) << "blocks are small: there is room for more than are expected";
  const wire::Body message = Receive();
  ASSERT_TRUE(std::holds_alternative<wire::Center>(message));
  EXPECT_EQ(std::get<wire::Center>(message).version, workers.size());
  EXPECT_EQ(block_bytes_, floats_ * sizeof(float));
}

TEST_F(Talk, AWorkersLinkReadsTheAnswerWhereItLies) {
  ShardLink::Options options;
  options.join = JoinWith(**ShardSegment::Create(floats_, 1));
  options.sender = 5;
  options.address = address_;
  options.range = {0, floats_};
  options.slots = 1;
  auto link = *ShardLink::Open(context_, options);
  ASSERT_NE(link->channel().segment(), nullptr);
  PushBlockPool pool(floats_, link->channel().segment());
  auto block = pool.Acquire();
  EXPECT_EQ(block->slot(), 1u);
  std::ranges::fill(block->floats(), 6.0f);
  link->Request({}, block, MonotonicNs());
  const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
  while (!link->answered() && MonotonicNs() < deadline_ns) {
    server_->PollOnce(1);
    link->Poll(MonotonicNs());
  }
  ASSERT_TRUE(link->answered()) << link->refusal().message();
  EXPECT_THAT(link->block(), Each(6.0f));
  EXPECT_EQ(link->channel().segment()->Answered(link->channel().segment()->turn())->center.version,
            0u);
  std::ranges::fill(block->floats(), 2.0f);
  link->Request({.step = 1, .learning_rate = 0.5}, block, MonotonicNs());
  EXPECT_TRUE(link->WaitForAnswer().has_value());
  EXPECT_FALSE(link->channel().IsAnswered());
  server_->PollOnce(10);
  EXPECT_TRUE(link->channel().IsAnswered());
  link->Poll(MonotonicNs());
  ASSERT_TRUE(link->answered());
  EXPECT_THAT(link->block(), Each(5.0f));
}

TEST(Shard, AnswersThatFindNoFreePlaceAreInMemoryOfTheirOwn) {
  Shard shard(PlainAsgd(), 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(SmallSpec(), PlainAsgd()), 0).ok());
  const auto segment = *shard.ShareAnswers(5);
  EXPECT_EQ(segment->wakeup(), 5u);
  EXPECT_EQ(*shard.ShareAnswers(5), segment);
  const std::vector<float> ones(shard.block_floats(), 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, ones, 0).ok());
  std::vector<Shard::Answer> held;
  for (std::uint64_t step = 1; step <= segment->slots() + 1; ++step) {
    ASSERT_TRUE(shard.OnPush(1, {.step = step, .learning_rate = 0.25}, ones, 0).ok());
    for (Shard::Answer& answer : shard.PopAnswers()) held.push_back(std::move(answer));
  }
  EXPECT_NE(held.front().block->slot(), 0u);
  EXPECT_EQ(held.back().block->slot(), 0u);
  EXPECT_THAT(held.back().block->floats(),
              Each(1.0f - 0.25f * static_cast<float>(segment->slots() + 1)));
}

TEST(ShardSegment, APushThatIsBeingWrittenOrWasSeenIsNone) {
  const auto segment = *ShardSegment::Create(10, 1);
  EXPECT_FALSE(segment->Pushed(0));
  segment->Put({{.step = 3, .pulled = 2, .learning_rate = 0.5, .turn = 7}, 1});
  EXPECT_FALSE(segment->Pushed(7));
  const auto push = segment->Pushed(6);
  ASSERT_TRUE(push);
  EXPECT_EQ(push->push.step, 3u);
  EXPECT_EQ(push->push.pulled, 2u);
  EXPECT_EQ(push->push.learning_rate, 0.5);
  EXPECT_EQ(push->push.turn, 7u);
  EXPECT_EQ(push->slot, 1u);
  segment->Put({{.turn = 0}, 1});  // as it is while it is written
  EXPECT_FALSE(segment->Pushed(6));
}

TEST(ShardSegment, NobodySleepsWhenTheAnswerIsThere) {
  const auto segment = *ShardSegment::Create(10, 1);
  const FutexWait before = segment->WaitForAnswer(1);
  EXPECT_EQ(before.word->load(), before.seen);
  segment->Answer({{.step = 4, .distance = 0.5, .merged = true, .kept = 3}, 2}, 1);
  const FutexWait after = segment->WaitForAnswer(1);
  EXPECT_NE(after.word->load(), after.seen);
  EXPECT_FALSE(segment->Answered(2));
  const auto answer = segment->Answered(1);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->center.step, 4u);
  EXPECT_EQ(answer->center.distance, 0.5);
  EXPECT_TRUE(answer->center.merged);
  EXPECT_EQ(answer->center.kept, 3u);
  EXPECT_EQ(answer->slot, 2u);
}

TEST(ShardSegment, LeavesNothingBehind) {
  std::string name;
  {
    const auto segment = *ShardSegment::Create(10, 1);
    name = segment->name();
    EXPECT_TRUE(ShardSegment::Open(name, 10, ShardSegment::Access::kRead).ok());
    EXPECT_THAT(ShardSegment::Open(name, 11, ShardSegment::Access::kRead).status().message(),
                HasSubstr("has blocks of another size"));
  }
  EXPECT_EQ(ShardSegment::Open(name, 10, ShardSegment::Access::kRead).status().code(),
            StatusCode::kUnavailable);
}

TEST(ShardSegment, ItsOwnerIsAliveAsLongAsItHoldsItWhereverItsNumberMeansSomething) {
  auto made = *ShardSegment::Create(10, 1);
  const auto mapped = *ShardSegment::Open(made->name(), 10, ShardSegment::Access::kRead);
  EXPECT_TRUE(mapped->OwnerIsAlive());
  const auto other = SharedSegment::OpenReadWrite(made->name());
  ASSERT_TRUE(other.ok());
  ++reinterpret_cast<ProcessIdentity*>(other->data() + 64)->boot_hash;  // of another container
  EXPECT_TRUE(mapped->OwnerIsAlive());
  made.reset();
  EXPECT_FALSE(mapped->OwnerIsAlive());
}

TEST(PushBlockPool, GivesPlacesFirstAndThenMemoryOfItsOwn) {
  const auto segment = *ShardSegment::Create(8, 1);
  PushBlockPool pool(8, segment);
  auto first = pool.Acquire();
  const auto second = pool.Acquire();
  EXPECT_EQ(first->slot(), 1u);
  EXPECT_EQ(first->floats().data(), segment->slot(1).data());
  EXPECT_EQ(second->slot(), 0u);
  first.reset();
  EXPECT_EQ(pool.Acquire()->slot(), 1u);
}

}  // namespace
}  // namespace murmurate
