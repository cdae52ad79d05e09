// What only the network path has: a peer that lies, is silent, or asks for nonsense.
#include "shared/weights/network_weights.h"

#include <atomic>
#include <thread>

#include "shared/model/parameter_layout.h"
#include "shared/weights/payload_hash.h"
#include "shared/wire/messages.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

constexpr char kModel[] = "npc";

Message ToMessage(const wire::Body& body, std::span<const std::byte> block = {}) {
  const wire::Encoded encoded = wire::Encode(body, 5, 0, block.size());
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  if (!block.empty()) message.frames.emplace_back(block);
  return message;
}

template <typename T>
std::optional<T> Read(const Message& message) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  const auto decoded = wire::Decode(frames);
  const auto* good = std::get_if<wire::Decoded>(&decoded);
  const T* body = good ? std::get_if<T>(&good->body) : nullptr;
  return body ? std::optional<T>(*body) : std::nullopt;
}

/// A fetcher whose learner is this test: it sees each PULL and sends what it likes.
class Fetcher : public testing::Test {
 protected:
  Fetcher() {
    auto opened = Socket::Open(context_, SocketKind::kRouter);
    EXPECT_TRUE(opened.ok());
    learner_.emplace(*std::move(opened));
    const std::string address = UniqueIpcAddress();
    EXPECT_TRUE(learner_->Bind(address).ok());
    subscriber_ = fetcher_.AddModel(kModel, spec_);
    // Nobody announces: NoteVersion alone must do.
    EXPECT_TRUE(fetcher_.Connect(UniqueIpcAddress(), address, 5).ok());
    const ParameterLayout layout(spec_);
    for (int version = 1; version <= 2; ++version) {
      payload_[version].resize(PayloadBytes(layout));
      WritePayload(layout, SampleSnapshot(spec_, version), payload_[version]);
    }
  }
  std::optional<wire::Pull> AwaitPull() {
    Message message;
    if (!Eventually([&] {
          fetcher_.PollOnce(now_ns_);
          return learner_->TryReceive(&message);
        })) {
      return std::nullopt;
    }
    peer_ = message.peer;
    return Read<wire::Pull>(message);
  }
  wire::Chunk ChunkOf(int version) const {
    return {wire::ModelId(kModel),    5, static_cast<std::uint64_t>(version),
            payload_[version].size(), 0, PayloadHash(payload_[version])};
  }
  Message Garbage() const {
    Message message;
    message.frames.emplace_back(std::span<const std::byte>(payload_[1]));
    return message;
  }
  void Send(const wire::Chunk& chunk, std::span<const std::byte> block) {
    Send(ToMessage(chunk, block));
  }
  void Send(Message message) {
    message.peer = peer_;
    EXPECT_EQ(learner_->TrySend(message), SendOutcome::kSent);
  }
  bool AwaitRefused(std::uint64_t count) {
    return Eventually([&] {
      fetcher_.PollOnce(now_ns_);
      return fetcher_.refused() >= count;
    });
  }
  bool AwaitTaken() {
    return Eventually([&] {
      fetcher_.PollOnce(now_ns_);
      return subscriber_->ReceiveNewer(got_.stamp, &got_);
    });
  }

  const ModelSpec spec_ = SmallSpec();
  SocketContext context_;
  std::optional<Socket> learner_;
  NetworkWeightFetcher fetcher_{context_, 77};
  std::shared_ptr<WeightSubscriber> subscriber_;
  std::vector<std::byte> payload_[3];
  PeerId peer_;
  std::int64_t now_ns_ = 1;
  ReceivedWeights got_;
};

TEST_F(Fetcher, NotedVersionIsPulledWithoutAnyAnnouncement) {
  fetcher_.NoteVersion(kModel, 1);
  const auto pull = AwaitPull();
  ASSERT_TRUE(pull.has_value());
  EXPECT_EQ(pull->model, wire::ModelId(kModel));
  EXPECT_EQ(pull->version, 0u);
  EXPECT_EQ(pull->credit, 10u);
  Send(ChunkOf(1), payload_[1]);
  ASSERT_TRUE(AwaitTaken());
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(Fetcher, SilentTransferIsRetriedAfterASecondAndNotBefore) {
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  Message message;
  now_ns_ += kNanosecondsPerSecond - 1;
  for (int i = 0; i < 20; ++i) fetcher_.PollOnce(now_ns_);
  EXPECT_FALSE(learner_->TryReceive(&message));
  now_ns_ += 1;
  EXPECT_TRUE(AwaitPull().has_value());
}

TEST_F(Fetcher, DamagedPayloadIsNotDeliveredAndIsFetchedAgain) {
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  std::vector<std::byte> damaged = payload_[1];
  damaged[200] ^= std::byte{4};
  Send(ChunkOf(1), damaged);
  ASSERT_TRUE(Eventually([&] {
    fetcher_.PollOnce(now_ns_);
    EXPECT_FALSE(subscriber_->ReceiveNewer({}, &got_));
    return fetcher_.refused() == 1;
  }));
  now_ns_ += kNanosecondsPerSecond;
  ASSERT_TRUE(AwaitPull().has_value());
  Send(ChunkOf(1), payload_[1]);
  EXPECT_TRUE(AwaitTaken());
}

TEST_F(Fetcher, ChunksOfAnotherIncarnationAreRefused) {
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  wire::Chunk chunk = ChunkOf(1);
  chunk.incarnation = 4;
  Send(chunk, payload_[1]);
  ASSERT_TRUE(AwaitRefused(1));
  EXPECT_FALSE(subscriber_->ReceiveNewer({}, &got_));
}

TEST_F(Fetcher, LearnerThatStillHasTheOldVersionIsAskedAgainSoon) {
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  Send(ChunkOf(1), payload_[1]);
  ASSERT_TRUE(AwaitTaken());
  fetcher_.NoteVersion(kModel, 2);
  ASSERT_TRUE(AwaitPull().has_value());
  Send(ChunkOf(1), payload_[1]);
  Send(Garbage());
  ASSERT_TRUE(AwaitRefused(1)) << "what was sent before it has been heard, too";
  now_ns_ += 20 * kNanosecondsPerMillisecond;
  ASSERT_TRUE(AwaitPull().has_value());
  Send(ChunkOf(2), payload_[2]);
  ASSERT_TRUE(AwaitTaken());
  EXPECT_EQ(got_.stamp.version, 2u);
}

TEST_F(Fetcher, NewIncarnationForgetsTheOldVersions) {
  fetcher_.NoteVersion(kModel, 2);
  ASSERT_TRUE(AwaitPull().has_value());
  Send(ChunkOf(2), payload_[2]);
  ASSERT_TRUE(AwaitTaken());
  const std::string address = UniqueIpcAddress();
  auto next = Socket::Open(context_, SocketKind::kRouter);
  ASSERT_TRUE(next.ok() && next->Bind(address).ok());
  learner_.emplace(*std::move(next));
  ASSERT_TRUE(fetcher_.Connect(UniqueIpcAddress(), address, 6).ok());
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  wire::Chunk chunk = ChunkOf(1);
  chunk.incarnation = 6;
  Send(chunk, payload_[1]);
  ASSERT_TRUE(AwaitTaken());
  EXPECT_EQ(got_.stamp, (VersionStamp{6, 1}));
}

TEST_F(Fetcher, GarbageIsCountedAndSurvived) {
  fetcher_.NoteVersion(kModel, 1);
  ASSERT_TRUE(AwaitPull().has_value());
  Send(Garbage());
  ASSERT_TRUE(AwaitRefused(1));
  Send(ChunkOf(1), payload_[1]);
  EXPECT_TRUE(AwaitTaken());
}

TEST_F(Fetcher, RemovedModelIsSaidToItsReader) {
  EXPECT_TRUE(subscriber_->writer_alive());
  EXPECT_EQ(fetcher_.AddModel(kModel, spec_), subscriber_);
  const std::uint32_t seen = subscriber_->word()->load();
  fetcher_.RemoveModel(kModel);
  EXPECT_FALSE(subscriber_->writer_alive());
  EXPECT_NE(subscriber_->word()->load(), seen);
}

/// A server whose player is this test.
class Server : public testing::Test {
 protected:
  Server() {
    auto opened = NetworkWeightServer::Open(context_, UniqueIpcAddress(), UniqueIpcAddress(), 5);
    EXPECT_TRUE(opened.ok()) << opened.status();
    server_ = *std::move(opened);
    publisher_ = server_->AddModel(kModel, spec_);
  }
  Socket NewPlayer() {
    SocketOptions options;
    auto player = Socket::Open(context_, SocketKind::kDealer, options);
    EXPECT_TRUE(player.ok() && player->Connect(server_->weights_address()).ok());
    return *std::move(player);
  }
  void Send(Socket& player, Message message) {
    EXPECT_TRUE(Eventually([&] {
      server_->PollOnce(0, nullptr);
      return player.TrySend(message) == SendOutcome::kSent;
    }));
  }
  template <typename T>
  std::optional<T> Await(Socket& player) {
    Message message;
    if (!Eventually([&] {
          server_->PollOnce(0, nullptr);
          return player.TryReceive(&message);
        })) {
      return std::nullopt;
    }
    return Read<T>(message);
  }
  wire::Pull PullNewest() const { return {wire::ModelId(kModel), 0, 0, 10}; }

  const ModelSpec spec_ = LargeSpec();
  SocketContext context_;
  std::unique_ptr<NetworkWeightServer> server_;
  std::unique_ptr<WeightPublisher> publisher_;
};

TEST_F(Server, NonsenseIsAnsweredWithACodedErrorAndTheNextPullIsServed) {
  ASSERT_TRUE(publisher_->Publish(SampleSnapshot(spec_, 1)).ok());
  Socket player = NewPlayer();
  Message garbage;
  garbage.frames.emplace_back(std::span<const std::byte>(std::vector<std::byte>(40)));
  Send(player, std::move(garbage));
  auto error = Await<wire::Error>(player);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->refusal, wire::Refusal::kMalformed);
  Send(player, ToMessage(wire::Bye{}));
  error = Await<wire::Error>(player);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->refusal, wire::Refusal::kUnknownType);
  Send(player, ToMessage(wire::Pull{wire::ModelId("other"), 0, 0, 10}));
  error = Await<wire::Error>(player);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->refusal, wire::Refusal::kMeaning);
  Send(player, ToMessage(wire::Pull{wire::ModelId(kModel), 0, 13, 10}));
  error = Await<wire::Error>(player);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->refusal, wire::Refusal::kMeaning);
  Send(player, ToMessage(PullNewest()));
  const auto chunk = Await<wire::Chunk>(player);
  ASSERT_TRUE(chunk.has_value());
  EXPECT_EQ(chunk->version, 1u);
  EXPECT_EQ(chunk->offset, 0u);
}

TEST_F(Server, AnnouncementsAloneAreEnoughForALateJoiner) {
  ASSERT_TRUE(publisher_->Publish(SampleSnapshot(spec_, 3)).ok());
  NetworkWeightFetcher fetcher(context_, 78);
  const auto subscriber = fetcher.AddModel(kModel, spec_);
  ASSERT_TRUE(fetcher.Connect(server_->announce_address(), server_->weights_address(), 5).ok());
  ReceivedWeights got;
  EXPECT_TRUE(Eventually([&] {
    server_->PollOnce(1, nullptr);
    fetcher.PollOnce(MonotonicNs());
    return subscriber->ReceiveNewer({}, &got);
  }));
  EXPECT_EQ(got.stamp, (VersionStamp{5, 3}));
}

TEST_F(Server, VersionsPassWholeFromTheThreadThatFetchesToTheThreadThatTakes) {
  constexpr std::uint64_t kLast = 30;
  const ModelSpec spec = SmallSpec();
  const auto publisher = server_->AddModel("small", spec);
  NetworkWeightFetcher fetcher(context_, 78);
  const auto subscriber = fetcher.AddModel("small", spec);
  ASSERT_TRUE(fetcher.Connect(server_->announce_address(), server_->weights_address(), 5).ok());
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> published{0};
  std::thread fetching([&] {  // mmr-client
    while (!done) {
      fetcher.NoteVersion("small", published);
      fetcher.PollOnce(MonotonicNs());
    }
  });
  std::thread taking([&] {  // mmr-weights
    ReceivedWeights got;
    EXPECT_TRUE(Eventually([&] {
      const std::uint32_t seen = subscriber->word()->load();
      if (!subscriber->ReceiveNewer(got.stamp, &got)) {
        const FutexWait wait{subscriber->word(), seen};
        WaitForAny(std::span(&wait, 1), 100);
        return false;
      }
      EXPECT_TRUE(IsWhole(spec, got));
      return got.stamp.version == kLast;
    }));
    done = true;
  });
  while (!done) {
    if (published < kLast) {
      EXPECT_TRUE(publisher->Publish(SampleSnapshot(spec, published + 1)).ok());
      ++published;
    }
    server_->PollOnce(0, nullptr);
  }
  fetching.join();
  taking.join();
}

TEST_F(Server, ModelsAreAddedFromAnotherThreadWhileItPublishes) {
  constexpr int kModels = 200;
  const ModelSpec spec = SmallSpec();
  const auto publisher = server_->AddModel("small", spec);
  const Snapshot snapshot = SampleSnapshot(spec, 1);
  std::atomic<bool> added{false};
  std::thread adder([&] {
    for (int i = 0; i < kModels; ++i) server_->AddModel("model" + std::to_string(i), spec);
    added = true;
  });
  while (!added) EXPECT_TRUE(publisher->Publish(snapshot).ok());
  adder.join();
  bool told = false;
  Socket player = NewPlayer();
  Send(player,
       ToMessage(wire::Pull{wire::ModelId("model" + std::to_string(kModels - 1)), 0, 0, 10}));
  EXPECT_TRUE(Eventually([&] {
    server_->PollOnce(0, nullptr, [&](const std::string& name) {
      told = name == "model" + std::to_string(kModels - 1);
    });
    return told;
  }));
}

TEST_F(Server, PlayerThatNeverReadsDoesNotStopAnother) {
  ASSERT_TRUE(publisher_->Publish(SampleSnapshot(spec_, 1)).ok());
  Socket stuck = NewPlayer();
  for (int i = 0; i < 40; ++i) Send(stuck, ToMessage(PullNewest()));
  NetworkWeightFetcher fetcher(context_, 78);
  const auto subscriber = fetcher.AddModel(kModel, spec_);
  ASSERT_TRUE(fetcher.Connect(server_->announce_address(), server_->weights_address(), 5).ok());
  fetcher.NoteVersion(kModel, 1);
  ReceivedWeights got;
  EXPECT_TRUE(Eventually([&] {
    server_->PollOnce(0, nullptr);
    fetcher.PollOnce(MonotonicNs());
    return subscriber->ReceiveNewer({}, &got);
  }));
  EXPECT_TRUE(IsWhole(spec_, got));
}

TEST_F(Server, PullBeforeTheFirstVersionIsServedOnceItIsThere) {
  Socket player = NewPlayer();
  Send(player, ToMessage(PullNewest()));
  bool told = false;
  EXPECT_TRUE(Eventually([&] {
    server_->PollOnce(0, nullptr, [&](const std::string& model) {
      EXPECT_EQ(model, kModel);
      told = publisher_->Publish(SampleSnapshot(spec_, 4)).ok();
    });
    return told;
  }));
  const auto chunk = Await<wire::Chunk>(player);
  ASSERT_TRUE(chunk.has_value());
  EXPECT_EQ(chunk->version, 4u);
}

}  // namespace
}  // namespace murmurate
