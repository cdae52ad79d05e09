// Blocks through shared memory: who may write when, and what happens to what comes late.
#include "server/parameters/shard_segment.h"

#include <gmock/gmock.h>

#include <limits>
#include <optional>

#include "server/parameters/shard_link.h"
#include "shared/core/clock.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using testing::Each;
using testing::HasSubstr;

ShardSettings PlainAsgd() {
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  return settings;
}

wire::Join JoinOf(const ModelSpec& spec, const ShardSettings& settings) {
  wire::Join join;
  join.model = "default";
  join.spec = spec.ToText();
  join.rule = settings.ToText();
  return join;
}

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

  /// Sends and waits for the answer; its block stays in `block_`.
  wire::Body Ask(const wire::Body& body, std::span<const float> block = {}) {
    const auto bytes = std::as_bytes(block);
    const wire::Encoded encoded = wire::Encode(body, 77, 0, bytes.size());
    const bool has_block = std::holds_alternative<wire::Push>(body);
    bool sent = false;
    Message answer;
    const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
    while (MonotonicNs() < deadline_ns) {
      Message message;
      message.frames.emplace_back(std::span<const std::byte>(encoded.header));
      message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
      if (has_block) message.frames.emplace_back(bytes);
      if (!sent) sent = socket_->TrySend(message) == SendOutcome::kSent;
      server_->PollOnce(1);
      if (socket_->TryReceive(&answer)) return Decoded(answer);
    }
    ADD_FAILURE() << "no answer";
    return wire::Bye{};
  }

  wire::Body Decoded(const Message& message) {
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    auto decoded = wire::Decode(frames);
    EXPECT_TRUE(std::holds_alternative<wire::Decoded>(decoded));
    block_bytes_ = std::get<wire::Decoded>(decoded).block.size();
    return std::get<wire::Decoded>(decoded).body;
  }

  /// Joined, and the shard has `value` everywhere.
  std::shared_ptr<ShardSegment> Begun(float value) {
    auto segment = *ShardSegment::Create(floats_, 2);
    EXPECT_TRUE(std::get<wire::Joined>(Ask(JoinWith(*segment))).mapped);
    std::ranges::fill(segment->place(1), value);
    segment->turn() = 1;
    const auto center = std::get<wire::Center>(Ask(wire::Push{.place = 1, .turn = 1}));
    EXPECT_EQ(center.turn, 1u);
    EXPECT_EQ(block_bytes_, 0u);
    EXPECT_THAT(segment->answer(), Each(value));
    return segment;
  }

  const std::size_t floats_ = ParameterLayout(SmallSpec()).trained_count();
  const std::string address_ =
      "ipc://" +
      (std::filesystem::temp_directory_path() / ("mmr-talk-" + std::to_string(getpid()))).string();
  SocketContext context_;
  std::unique_ptr<ParameterServer> server_;
  std::optional<Socket> socket_;
  std::size_t block_bytes_ = 0;
};

TEST_F(Talk, APushIsReadInItsPlaceAndAnsweredInTheSegment) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->place(2), 2.0f);
  segment->turn() = 2;
  const wire::Push push{.step = 1, .pulled = 0, .learning_rate = 0.5, .place = 2, .turn = 2};
  EXPECT_EQ(std::get<wire::Center>(Ask(push)).turn, 2u);
  EXPECT_THAT(segment->answer(), Each(2.0f));  // 3 - 0.5 * 2
}

TEST_F(Talk, APushThatComesLateFindsAnotherTurnAndWritesNothing) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->place(1), 2.0f);
  segment->turn() = 0;  // the worker reads
  std::ranges::fill(segment->answer(), 7.0f);
  const wire::Push push{.step = 1, .learning_rate = 0.5, .place = 1, .turn = 1};
  EXPECT_EQ(std::get<wire::Center>(Ask(push)).turn, 0u);
  EXPECT_THAT(segment->answer(), Each(7.0f));
  EXPECT_EQ(server_->Find("default")->version(), 1u);  // it is merged all the same
}

TEST_F(Talk, OneThatWasKeptIsMergedAndNobodyIsAnswered) {
  const auto segment = Begun(3.0f);
  std::ranges::fill(segment->place(2), 2.0f);
  segment->turn() = 9;
  std::ranges::fill(segment->answer(), 7.0f);
  EXPECT_EQ(std::get<wire::Center>(
                Ask(wire::Push{.step = 1, .learning_rate = 0.5, .place = 2, .turn = 0}))
                .turn,
            0u);
  EXPECT_EQ(block_bytes_, 0u);
  EXPECT_THAT(segment->answer(), Each(7.0f));
  EXPECT_THAT(server_->Find("default")->center(), Each(2.0f));
}

TEST_F(Talk, WhoIsOfAnotherHostGetsBlocksInMessages) {
  const auto segment = *ShardSegment::Create(floats_, 1);
  wire::Join join = JoinWith(*segment);
  ++join.host;
  EXPECT_FALSE(std::get<wire::Joined>(Ask(join)).mapped);
  const std::vector<float> parameters(floats_, 4.0f);
  EXPECT_EQ(std::get<wire::Center>(Ask(wire::Push{}, parameters)).turn, 0u);
  EXPECT_EQ(block_bytes_, floats_ * sizeof(float));
}

TEST_F(Talk, WhatDoesNotFitIsNotMapped) {
  const auto small = *ShardSegment::Create(floats_ - 1, 1);
  EXPECT_FALSE(std::get<wire::Joined>(Ask(JoinWith(*small))).mapped);
  wire::Join join = JoinWith(*small);
  join.segment = "/murmurate-nothing";
  EXPECT_FALSE(std::get<wire::Joined>(Ask(join)).mapped);
}

TEST_F(Talk, APlaceThatTheSegmentLacksSendsTheWorkerBackToJoin) {
  const auto segment = Begun(3.0f);
  const wire::Body answer = Ask(wire::Push{.step = 1, .place = 3, .turn = 2});
  ASSERT_TRUE(std::holds_alternative<wire::Error>(answer));
  EXPECT_EQ(std::get<wire::Error>(answer).refusal, wire::Refusal::kNotRegistered);
  EXPECT_THAT(server_->Find("default")->center(), Each(3.0f));
}

TEST_F(Talk, AWorkersLinkReadsTheAnswerWhereItLies) {
  ShardLink::Options options;
  options.join = JoinWith(**ShardSegment::Create(floats_, 1));
  options.sender = 5;
  options.address = address_;
  options.range = {0, floats_};
  options.places = 1;
  auto link = *ShardLink::Open(context_, options);
  ASSERT_NE(link->segment(), nullptr);
  BlockPool pool(floats_, link->segment());
  auto block = pool.Take();
  EXPECT_EQ(block->place(), 1u);
  std::ranges::fill(block->floats(), 6.0f);
  link->Request({}, block, MonotonicNs());
  const std::int64_t deadline_ns = MonotonicNs() + 10'000'000'000;
  while (!link->answered() && MonotonicNs() < deadline_ns) {
    server_->PollOnce(1);
    link->Poll(MonotonicNs());
  }
  ASSERT_TRUE(link->answered()) << link->refusal().message();
  EXPECT_EQ(link->block().data(), link->segment()->answer().data());
  EXPECT_THAT(link->block(), Each(6.0f));
  EXPECT_EQ(link->segment()->turn(), 0u);
}

TEST(ShardSegment, LeavesNothingBehind) {
  std::string name;
  {
    const auto segment = *ShardSegment::Create(10, 1);
    name = segment->name();
    EXPECT_TRUE(ShardSegment::Open(name, 10).ok());
    EXPECT_THAT(ShardSegment::Open(name, 11).status().message(),
                HasSubstr("has blocks of another size"));
  }
  EXPECT_EQ(ShardSegment::Open(name, 10).status().code(), StatusCode::kUnavailable);
}

TEST(BlockPool, GivesPlacesFirstAndThenMemoryOfItsOwn) {
  const auto segment = *ShardSegment::Create(8, 1);
  BlockPool pool(8, segment);
  auto first = pool.Take();
  const auto second = pool.Take();
  EXPECT_EQ(first->place(), 1u);
  EXPECT_EQ(first->floats().data(), segment->place(1).data());
  EXPECT_EQ(second->place(), 0u);
  first.reset();
  EXPECT_EQ(pool.Take()->place(), 1u);
}

/// The bad number is in the last of several pieces that are stepped one by one.
TEST(Shard, APushThatIsNotFiniteLeavesTheCenterAsItWas) {
  const auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 64\naction discrete 2\ndense 64 tanh\n"
      "separate_value 1\nnormalize_observation 0\n");
  ASSERT_TRUE(spec.ok());
  Shard shard(PlainAsgd(), 0, 1, [](LogLevel, std::string_view) {});
  const auto joined = shard.Join(1, JoinOf(*spec, PlainAsgd()), 0);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  ASSERT_GT(joined->count, 3 * 2048u);
  std::vector<float> block(joined->count, 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, block, 0).ok());
  block.back() = std::numeric_limits<float>::infinity();
  const wire::Push push{.step = 1, .learning_rate = 0.5};
  EXPECT_THAT(shard.OnPush(1, push, block, 0).message(), HasSubstr("not finite"));
  EXPECT_THAT(shard.center(), Each(1.0f));
  EXPECT_EQ(shard.version(), 0u);
  block.back() = 1.0f;
  EXPECT_TRUE(shard.OnPush(1, push, block, 0).ok());
  EXPECT_THAT(shard.center(), Each(0.5f));
  EXPECT_EQ(shard.version(), 1u);
}

class AnyOptimizer : public testing::TestWithParam<OptimizerSettings::Name> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, AnyOptimizer,
                         testing::Values(OptimizerSettings::Name::kSgd,
                                         OptimizerSettings::Name::kMomentum));

/// It is sent as it lies, so what is merged later must not reach it.
TEST_P(AnyOptimizer, AnAnswerIsNotWrittenAnyMore) {
  ShardSettings settings = PlainAsgd();
  settings.optimizer.name = GetParam();
  settings.optimizer.momentum.delta = 0.0f;  // then it steps like plain SGD
  Shard shard(settings, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(SmallSpec(), settings), 0).ok());
  const std::vector<float> ones(shard.block_floats(), 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, ones, 0).ok());
  const auto answers = shard.TakeAnswers();
  ASSERT_EQ(answers.size(), 1u);
  for (std::uint64_t step = 1; step <= 3; ++step)
    ASSERT_TRUE(shard.OnPush(1, {.step = step, .learning_rate = 0.25}, ones, 0).ok());
  EXPECT_THAT(answers[0].block->floats(), Each(1.0f));
  EXPECT_THAT(shard.center(), Each(0.25f));
}

}  // namespace
}  // namespace murmurate
