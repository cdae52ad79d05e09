// One suite for every way weights travel: shared memory; the network over ipc and over tcp.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "shared/model/policy_and_value.h"
#include "shared/weights/network_weights.h"
#include "shared/weights/shared_memory_weights.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

constexpr char kModel[] = "npc";

/// One reader's end, with whatever drives it.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual WeightSubscriber& subscriber() = 0;
  virtual void Poll() {}
  /// HELLO_OK, ACCEPTED or PONG said which version is the newest.
  virtual void Hear(std::uint64_t /*newest*/) {}
};

/// One learner's end.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual WeightPublisher& publisher() = 0;
  virtual void Poll() {}
  virtual std::unique_ptr<Reader> NewReader() = 0;
};

class SharedMemoryReader : public Reader {
 public:
  explicit SharedMemoryReader(std::unique_ptr<SharedMemorySubscriber> s) : s_(std::move(s)) {}
  WeightSubscriber& subscriber() override { return *s_; }

 private:
  std::unique_ptr<SharedMemorySubscriber> s_;
};

class SharedMemoryLearner : public Learner {
 public:
  SharedMemoryLearner(const ModelSpec& spec, std::uint64_t incarnation)
      : spec_(spec), incarnation_(incarnation) {
    auto made = SharedMemoryPublisher::Create(SegmentName(UniqueName("run"), kModel, incarnation),
                                              spec, incarnation);
    EXPECT_TRUE(made.ok()) << made.status();
    publisher_ = *std::move(made);
  }
  WeightPublisher& publisher() override { return *publisher_; }
  std::unique_ptr<Reader> NewReader() override {
    auto opened = SharedMemorySubscriber::Open(publisher_->name(), spec_, incarnation_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::make_unique<SharedMemoryReader>(*std::move(opened));
  }

 private:
  const ModelSpec spec_;
  const std::uint64_t incarnation_;
  std::unique_ptr<SharedMemoryPublisher> publisher_;
};

class NetworkReader : public Reader {
 public:
  NetworkReader(SocketContext& context, const NetworkWeightServer& server, const ModelSpec& spec,
                std::uint64_t incarnation)
      : fetcher_(context, 77) {
    subscriber_ = fetcher_.AddModel(kModel, spec);
    const Status connected =
        fetcher_.Connect(server.announce_address(), server.weights_address(), incarnation);
    EXPECT_TRUE(connected.ok()) << connected;
  }
  WeightSubscriber& subscriber() override { return *subscriber_; }
  void Hear(std::uint64_t newest) override { fetcher_.NoteVersion(kModel, newest); }
  void Poll() override {
    const std::vector<Socket*> sockets = fetcher_.sockets();
    Poller(nullptr).Wait(sockets, 1);
    fetcher_.PollOnce(MonotonicNs());
  }

 private:
  NetworkWeightFetcher fetcher_;
  std::shared_ptr<WeightSubscriber> subscriber_;
};

class NetworkLearner : public Learner {
 public:
  NetworkLearner(const std::string& announce, const std::string& weights, const ModelSpec& spec,
                 std::uint64_t incarnation)
      : spec_(spec), incarnation_(incarnation) {
    auto opened = NetworkWeightServer::Open(context_, announce, weights, incarnation);
    EXPECT_TRUE(opened.ok()) << opened.status();
    server_ = *std::move(opened);
    publisher_ = server_->AddModel(kModel, spec);
  }
  WeightPublisher& publisher() override { return *publisher_; }
  void Poll() override { server_->PollOnce(0, nullptr); }
  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<NetworkReader>(context_, *server_, spec_, incarnation_);
  }

 private:
  const ModelSpec spec_;
  const std::uint64_t incarnation_;
  SocketContext context_;
  std::unique_ptr<NetworkWeightServer> server_;
  std::unique_ptr<WeightPublisher> publisher_;
};

class Weights : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Learner> NewLearner(const ModelSpec& spec, std::uint64_t incarnation) {
    if (GetParam() == "SharedMemory") {
      return std::make_unique<SharedMemoryLearner>(spec, incarnation);
    }
    const bool ipc = GetParam() == "NetworkOverIpc";
    const std::string any = "tcp://127.0.0.1:*";
    return std::make_unique<NetworkLearner>(ipc ? UniqueIpcAddress() : any,
                                            ipc ? UniqueIpcAddress() : any, spec, incarnation);
  }
  void Publish(Learner& learner, const ModelSpec& spec, std::uint64_t version) {
    newest_ = version;
    EXPECT_TRUE(learner.publisher().Publish(SampleSnapshot(spec, version)).ok());
  }
  /// Polls both ends until something newer than `known` was taken.
  bool Receive(Learner& learner, Reader& reader, const VersionStamp& known, ReceivedWeights* into) {
    reader.Hear(newest_);
    return Eventually([&] {
      learner.Poll();
      reader.Poll();
      return reader.subscriber().ReceiveNewer(known, into);
    });
  }
  static void PollAWhile(Learner& learner, Reader& reader) {
    for (int i = 0; i < 20; ++i) {
      learner.Poll();
      reader.Poll();
    }
  }
  const PolicyAndValue spec_ = SmallSpec();
  std::uint64_t newest_ = 0;
  ReceivedWeights got_;
};

TEST_P(Weights, NothingIsTakenBeforeTheFirstVersion) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  PollAWhile(*learner, *reader);
  EXPECT_FALSE(reader->subscriber().ReceiveNewer({}, &got_));
  EXPECT_TRUE(reader->subscriber().writer_alive());
}

TEST_P(Weights, NumbersActSettingsAndStampArriveAsPublished) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  Publish(*learner, spec_, 1);
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  EXPECT_EQ(got_.stamp, (VersionStamp{5, 1}));
  EXPECT_EQ(got_.act, SampleAct());
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_P(Weights, KnownVersionIsNotTakenAgain) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  Publish(*learner, spec_, 1);
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  PollAWhile(*learner, *reader);
  EXPECT_FALSE(reader->subscriber().ReceiveNewer(got_.stamp, &got_));
  EXPECT_TRUE(IsWhole(spec_, got_)) << "what it has is untouched";
}

TEST_P(Weights, SlowReaderSkipsToTheNewestVersion) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  Publish(*learner, spec_, 1);
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  for (std::uint64_t version = 2; version <= 9; ++version) Publish(*learner, spec_, version);
  ASSERT_TRUE(Receive(*learner, *reader, got_.stamp, &got_));
  EXPECT_EQ(got_.stamp.version, 9u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_P(Weights, LateJoinerGetsTheNewestVersion) {
  const auto learner = NewLearner(spec_, 5);
  for (std::uint64_t version = 1; version <= 5; ++version) Publish(*learner, spec_, version);
  const auto reader = learner->NewReader();
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  EXPECT_EQ(got_.stamp.version, 5u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_P(Weights, LargeVersionArrivesWhole) {
  const PolicyAndValue spec = LargeSpec();
  const auto learner = NewLearner(spec, 5);
  const auto reader = learner->NewReader();
  for (std::uint64_t version = 1; version <= 2; ++version) {
    Publish(*learner, spec, version);
    ASSERT_TRUE(Receive(*learner, *reader, {5, version - 1}, &got_));
    EXPECT_EQ(got_.stamp.version, version);
    EXPECT_TRUE(IsWhole(spec, got_));
  }
}

TEST_P(Weights, WordChangesAndWaitersWakeWhenAVersionMayBeTaken) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  const FutexWord* word = reader->subscriber().word();
  const std::uint32_t seen = word->load();
  std::atomic<bool> woken{false};
  std::thread waiter([&] {
    const FutexWait wait{word, seen};
    while (word->load() == seen) WaitForAny(std::span(&wait, 1), 60'000);
    woken = true;
  });
  Publish(*learner, spec_, 1);
  reader->Hear(1);
  EXPECT_TRUE(Eventually([&] {
    learner->Poll();
    reader->Poll();
    return woken.load();
  }));
  waiter.join();
  EXPECT_TRUE(reader->subscriber().ReceiveNewer({}, &got_));
}

TEST_P(Weights, ReaderThatLostItsWeightsGetsThemAgain) {
  const auto learner = NewLearner(spec_, 5);
  const auto reader = learner->NewReader();
  Publish(*learner, spec_, 3);
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  got_ = ReceivedWeights();
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  EXPECT_EQ(got_.stamp.version, 3u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_P(Weights, NewIncarnationIsAnotherStampEvenWithAnOlderVersion) {
  auto learner = NewLearner(spec_, 5);
  auto reader = learner->NewReader();
  Publish(*learner, spec_, 7);
  ASSERT_TRUE(Receive(*learner, *reader, {}, &got_));
  reader.reset();
  learner = NewLearner(spec_, 6);
  reader = learner->NewReader();
  Publish(*learner, spec_, 1);
  ASSERT_TRUE(Receive(*learner, *reader, got_.stamp, &got_));
  EXPECT_EQ(got_.stamp, (VersionStamp{6, 1}));
  EXPECT_TRUE(IsWhole(spec_, got_));
}

/// Takes whole versions until it has seen the last one.
void HammerReader(const ModelSpec& spec, Reader& reader, std::uint64_t last, std::atomic<int>* torn,
                  std::atomic<int>* done) {
  ReceivedWeights got;
  const bool seen_last = Eventually([&] {
    reader.Poll();
    const std::uint64_t before = got.stamp.version;
    if (!reader.subscriber().ReceiveNewer(got.stamp, &got)) return false;
    if (!IsWhole(spec, got) || got.stamp.version <= before) ++*torn;
    return got.stamp.version == last;
  });
  if (!seen_last) ++*torn;
  ++*done;
}

TEST_P(Weights, ThreeReadersNeverSeeATornVersionOfABusyWriter) {
  constexpr std::uint64_t kLast = 100;
  PolicyAndValue spec = SmallSpec();
  spec.trunk = {{256, Activation::kTanh}, {256, Activation::kTanh}};  // 270 KB: two chunks
  const auto learner = NewLearner(spec, 5);
  std::atomic<int> torn{0}, done{0};
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) readers.push_back(learner->NewReader());
  for (const auto& reader : readers) {
    threads.emplace_back([&] { HammerReader(spec, *reader, kLast, &torn, &done); });
  }
  for (std::uint64_t version = 1; version <= kLast; ++version) {
    Publish(*learner, spec, version);
    learner->Poll();
  }
  while (done < 3) {
    learner->Poll();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
}

INSTANTIATE_TEST_SUITE_P(Every, Weights,
                         testing::Values("SharedMemory", "NetworkOverIpc", "NetworkOverTcp"),
                         [](const auto& it) { return it.param; });

}  // namespace
}  // namespace murmurate
