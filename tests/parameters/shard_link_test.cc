// A worker's link through what shards do when they die, come back, and cannot be mapped.
#include "server/parameters/shard_link.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

using testing::Each;

constexpr std::int64_t kDeadlineNs = 10'000'000'000;

class LinkTest : public testing::Test {
 protected:
  std::unique_ptr<ShardLink> NewLink(std::size_t slots, std::uint64_t sender = 5) {
    ShardLink::Options options;
    options.join = JoinOf(SmallSpec(), PlainAsgd());
    options.join.worker = static_cast<std::uint32_t>(sender);
    options.sender = sender;
    options.address = address_;
    options.range = {0, floats_};
    options.retain_bytes = 64 * floats_ * sizeof(float);
    options.slots = slots;
    options.log = [this](LogLevel, std::string_view text) { said_.emplace_back(text); };
    auto link = ShardLink::Open(context_, options);
    EXPECT_TRUE(link.ok()) << link.status().message();
    return *std::move(link);
  }
  void Request(ShardLink& link, const wire::Push& push, float value) {
    PushBlockPool pool(floats_, link.channel().segment());
    auto block = pool.Acquire();
    std::ranges::fill(block->floats(), value);
    link.Request(push, std::move(block), Now());
    link.Keep();
  }
  std::int64_t Now() const { return MonotonicNs() + skipped_ns_; }

  const std::size_t floats_ = ParameterLayout(SmallSpec()).trained_count();
  const std::string address_ =
      "ipc://" +
      (std::filesystem::temp_directory_path() / ("mmr-link-" + std::to_string(getpid()))).string();
  std::vector<std::string> said_;  ///< by links
  SocketContext context_;
  std::int64_t skipped_ns_ = 0;
};

/// The shard says what the test tells it to.
class MadeUpShard : public LinkTest {
 protected:
  MadeUpShard() {
    auto socket = Socket::Open(context_, SocketKind::kRouter);
    EXPECT_TRUE(socket.ok() && socket->Bind(address_).ok());
    socket_.emplace(*std::move(socket));
  }

  /// What the link says next.
  template <typename Kind>
  Kind Hear() {
    const std::int64_t deadline_ns = MonotonicNs() + kDeadlineNs;
    Message message;
    while (!socket_->TryReceive(&message)) {
      if (MonotonicNs() > deadline_ns) {
        ADD_FAILURE() << "it says nothing";
        return {};
      }
      link_->Poll(Now());
    }
    peer_ = message.peer;
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    const auto decoded = wire::Decode(frames);
    const auto* body = &std::get<wire::Decoded>(decoded).body;
    block_bytes_ = std::get<wire::Decoded>(decoded).block.size();
    EXPECT_TRUE(std::holds_alternative<Kind>(*body)) << body->index();
    return std::holds_alternative<Kind>(*body) ? std::get<Kind>(*body) : Kind{};
  }
  void Say(const wire::Body& body, std::span<const float> block = {}) {
    const auto bytes = std::as_bytes(block);
    const wire::Encoded encoded = wire::Encode(body, incarnation_, 0, bytes.size());
    Message message;
    message.peer = peer_;
    message.frames.emplace_back(std::span<const std::byte>(encoded.header));
    message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
    if (std::holds_alternative<wire::Center>(body)) message.frames.emplace_back(bytes);
    EXPECT_EQ(socket_->TrySend(message), SendOutcome::kSent);
  }
  void SayJoined(const std::string& segment) {
    Say(wire::Joined{.count = floats_, .empty = true, .segment = segment});
  }
  template <typename Condition>
  void PollUntil(const Condition& condition) {
    const std::int64_t deadline_ns = MonotonicNs() + kDeadlineNs;
    while (!condition() && MonotonicNs() < deadline_ns) link_->Poll(Now());
    EXPECT_TRUE(condition());
  }
  /// A link whose pull waits for the answer to its JOIN, which is returned.
  wire::Join Asked() {
    link_ = NewLink(1);
    Request(*link_, {}, 6.0f);
    return Hear<wire::Join>();
  }
  void AnswerInAMessage() {
    const std::vector<float> center(floats_, 4.0f);
    Say(wire::Center{.merged = true}, center);
    PollUntil([&] { return link_->answered(); });
    EXPECT_TRUE(link_->refusal().ok()) << link_->refusal().message();
    EXPECT_THAT(link_->block(), Each(4.0f));
  }

  const std::uint64_t number_ = RandomIdentity();
  const std::unique_ptr<WakeupReceiver> wakeup_ = *WakeupReceiver::Open(number_);
  const std::shared_ptr<ShardSegment> answers_ = *ShardSegment::Create(floats_, 1, number_);
  std::unique_ptr<ShardLink> link_;
  std::optional<Socket> socket_;
  PeerId peer_;
  std::size_t block_bytes_ = 0;
  std::uint64_t incarnation_ = 1;
};

TEST_F(MadeUpShard, AnotherWithItsNumberIsWaitedForEachTimeItJoins) {
  const wire::Error busy{wire::Refusal::kBusy, "there is a worker 5 already", 0};
  Asked();
  Say(busy);
  skipped_ns_ += 3'000'000'000;
  Hear<wire::Join>();
  SayJoined("");
  Hear<wire::Push>();
  skipped_ns_ += 60'000'000'000;  // long after, the shard is started again
  Hear<wire::Join>();
  for (int times = 0; times < 2; ++times) {
    Say(busy);
    skipped_ns_ += 1'000'000'000;
    Hear<wire::Join>();
    EXPECT_TRUE(link_->refusal().ok()) << link_->refusal().message();
  }
  skipped_ns_ += 4'000'000'000;
  Say(busy);
  PollUntil([&] { return !link_->refusal().ok(); });
}

TEST_F(MadeUpShard, OneThatIsGoneBeforeItIsMappedAgainIsAskedWithoutASegment) {
  const auto pushed = *ShardSegment::Open(Asked().segment, floats_, ShardSegment::Access::kRead);
  SayJoined(answers_->name());
  PollUntil([&] { return pushed->Pushed(0).has_value(); });
  skipped_ns_ += 250'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, pushed->name());
  SayJoined("/murmurate-nothing");  // while the push waits for an answer in the segment
  PollUntil([&] { return !said_.empty(); });
  EXPECT_FALSE(link_->channel().IsAnswered());
  skipped_ns_ += 50'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, "");
  SayJoined("");
  EXPECT_EQ(Hear<wire::Push>().turn, 0u);
  EXPECT_EQ(block_bytes_, floats_ * sizeof(float));
  AnswerInAMessage();
}

TEST_F(MadeUpShard, OneThatCouldNotBeMappedIsAskedForSharedMemoryAgainOnceItIsAnother) {
  const auto pushed = *ShardSegment::Open(Asked().segment, floats_, ShardSegment::Access::kRead);
  SayJoined("/murmurate-nothing");
  PollUntil([&] { return !said_.empty(); });
  skipped_ns_ += 50'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, "");
  incarnation_ = 2;
  SayJoined("");
  EXPECT_EQ(Hear<wire::Join>().segment, pushed->name());
  SayJoined(answers_->name());
  PollUntil([&] { return pushed->Pushed(0).has_value(); });
  EXPECT_TRUE(link_->WaitForAnswer().has_value());
}

TEST_F(MadeUpShard, OneThatServedInMessagesAndWasStartedAgainIsAskedForSharedMemory) {
  const std::string segment = Asked().segment;
  SayJoined("/murmurate-nothing");
  PollUntil([&] { return !said_.empty(); });
  skipped_ns_ += 50'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, "");
  SayJoined("");
  EXPECT_EQ(Hear<wire::Push>().turn, 0u);
  skipped_ns_ += 250'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, "") << "it is still the one that cannot be mapped";
  SayJoined("");
  (void)Hear<wire::Push>();
  incarnation_ = 2;
  Say(wire::Error{wire::Refusal::kNotRegistered, "join first", 0});
  EXPECT_EQ(Hear<wire::Join>().segment, segment);
}

TEST_F(MadeUpShard, ASecondAnswerToWhatNamedASegmentIsNoneToWhatNamesNone) {
  (void)Asked();
  skipped_ns_ += 50'000'000;
  (void)Hear<wire::Join>();
  SayJoined("/murmurate-nothing");
  SayJoined(answers_->name());  // this one has mapped the worker's, and would answer there
  PollUntil([&] { return !said_.empty(); });
  skipped_ns_ += 50'000'000;
  EXPECT_EQ(Hear<wire::Join>().segment, "");
  SayJoined("");
  EXPECT_EQ(Hear<wire::Push>().turn, 0u);
  AnswerInAMessage();
}

TEST_F(MadeUpShard, OneThatMapsTheSegmentOnlyTheSecondTimeIsAnsweredThere) {
  const auto pushed = *ShardSegment::Open(Asked().segment, floats_, ShardSegment::Access::kRead);
  skipped_ns_ += 50'000'000;
  (void)Hear<wire::Join>();
  SayJoined("");
  SayJoined(answers_->name());
  EXPECT_EQ(Hear<wire::Push>().turn, 0u);
  Say(wire::Center{.merged = true});  // without a block: it takes nobody to be waiting for it
  PollUntil([&] { return pushed->Pushed(0).has_value(); });
  EXPECT_TRUE(link_->refusal().ok()) << link_->refusal().message();
  EXPECT_FALSE(link_->answered());
  EXPECT_TRUE(link_->WaitForAnswer().has_value());
}

TEST_F(MadeUpShard, AnAnswerWithoutAPlaceIsAwaitedAsAMessage) {
  const auto segment =
      *ShardSegment::Open(Asked().segment, floats_, ShardSegment::Access::kReadWrite);
  SayJoined(answers_->name());
  PollUntil([&] { return segment->Pushed(0).has_value(); });
  EXPECT_TRUE(link_->WaitForAnswer().has_value());
  segment->Answer({{.merged = true}, 0}, segment->turn());
  EXPECT_TRUE(link_->channel().IsAnswered());
  link_->Poll(Now());
  EXPECT_FALSE(link_->answered());
  EXPECT_FALSE(link_->WaitForAnswer().has_value());
  AnswerInAMessage();
}

/// A shard that is started again; blocks of the worker go in messages, or in its segment.
class Restarted : public LinkTest, public testing::WithParamInterface<std::size_t> {
 protected:
  Restarted() { Start(nullptr); }

  void Start(const SavedState* from) {
    server_.reset();
    ParameterServerOptions options;
    options.settings = [settings = PlainAsgd()](const std::string&) { return settings; };
    options.address = address_;
    auto server = ParameterServer::Open(context_, options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    if (from == nullptr) return;
    ASSERT_TRUE(server_->Resume("default", SmallSpec().ToText(), *from).ok());
  }
  /// The number that the shard has everywhere, as the worker reads it.
  float Ask(ShardLink& link, const wire::Push& push, float value) {
    Request(link, push, value);
    const std::int64_t deadline_ns = MonotonicNs() + kDeadlineNs;
    while (!link.answered() && link.refusal().ok() && MonotonicNs() < deadline_ns) {
      server_->PollOnce(1);
      link.Poll(Now());
    }
    EXPECT_TRUE(link.answered()) << link.refusal().message();
    if (!link.answered()) return 0.0f;
    EXPECT_THAT(link.block(), Each(link.block()[0]));
    return link.block()[0];
  }
  float Pull(ShardLink& link, float own) { return Ask(link, {}, own); }
  /// One less.
  float Push(ShardLink& link, std::uint64_t step) {
    return Ask(link, {.step = step, .learning_rate = 0.5}, 2.0f);
  }
  /// Begins with 10 and makes three pushes; a checkpoint has the first.
  SavedState AfterThree(ShardLink& link) {
    EXPECT_EQ(Pull(link, 10.0f), 10.0f);
    EXPECT_EQ(Push(link, 1), 9.0f);
    SavedState early;
    server_->Find("default")->Save(&early);
    EXPECT_EQ(Push(link, 2), 8.0f);
    EXPECT_EQ(Push(link, 3), 7.0f);
    return early;
  }

  std::unique_ptr<ParameterServer> server_;
};
INSTANTIATE_TEST_SUITE_P(Ways, Restarted, testing::Values(0, 1), [](const auto& param) {
  return param.param == 0 ? "Messages" : "Segment";
});

TEST_P(Restarted, APullForgetsNoPushThatAShardMayLose) {
  const auto link = NewLink(GetParam());
  const SavedState early = AfterThree(*link);
  EXPECT_EQ(Pull(*link, 7.0f), 7.0f);
  Start(&early);
  EXPECT_EQ(Push(*link, 4), 6.0f);
  EXPECT_EQ(server_->Find("default")->version(), 4u);
}

TEST_P(Restarted, APullOfOneWithAnOlderCheckpointIsAnsweredWhenItHasWhatItLacked) {
  const auto link = NewLink(GetParam());
  const SavedState early = AfterThree(*link);
  Start(&early);
  EXPECT_EQ(Pull(*link, 7.0f), 7.0f);
  EXPECT_EQ(Push(*link, 4), 6.0f);
  EXPECT_EQ(server_->Find("default")->version(), 4u);
}

TEST_P(Restarted, APullOfOneThatBeganWithAnothersParametersPushesNothingAgain) {
  const auto link = NewLink(GetParam());
  (void)AfterThree(*link);
  Start(nullptr);
  const auto other = NewLink(GetParam(), 6);
  EXPECT_EQ(Pull(*other, 7.0f), 7.0f);  // which hold all three
  EXPECT_EQ(Pull(*link, 7.0f), 7.0f);
  EXPECT_EQ(Push(*link, 4), 6.0f);
  EXPECT_EQ(server_->Find("default")->version(), 1u);
}

TEST_P(Restarted, APullOfOneWithNothingBringsWhatHoldsAllPushes) {
  const auto link = NewLink(GetParam());
  (void)AfterThree(*link);
  Start(nullptr);
  EXPECT_EQ(Pull(*link, 7.0f), 7.0f);
  EXPECT_EQ(Push(*link, 4), 6.0f);
  EXPECT_EQ(server_->Find("default")->version(), 1u);
}

}  // namespace
}  // namespace murmurate
