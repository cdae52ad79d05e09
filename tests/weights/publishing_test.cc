#include "shared/weights/publishing.h"

#include <atomic>
#include <thread>

#include "shared/core/loop.h"
#include "shared/weights/shared_memory_weights.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

constexpr char kModel[] = "npc";

class PublishingTest : public testing::Test {
 protected:
  std::unique_ptr<Publishing> Open(bool shm) {
    Publishing::Options options;
    options.announce_address = UniqueIpcAddress();
    options.weights_address = UniqueIpcAddress();
    options.run = UniqueName("run");
    options.incarnation = 5;
    options.shm = shm;
    options.log = [this](LogLevel, std::string_view message) { log_ += message; };
    auto opened = Publishing::Open(context_, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  std::string Add(Publishing& publishing, const std::string& model = kModel) {
    Result<std::string> segment = publishing.AddModel(model, spec_, false);
    EXPECT_TRUE(segment.ok()) << segment.status();
    return segment.ok() ? *segment : "";
  }
  std::shared_ptr<const Snapshot> Sample(std::uint64_t version) const {
    return std::make_shared<const Snapshot>(SampleSnapshot(spec_, version));
  }
  std::unique_ptr<SharedMemorySubscriber> Subscribe(const std::string& segment) {
    auto opened = SharedMemorySubscriber::Open(segment, spec_, 5);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  /// Pulls over the network until version `version` is there.
  bool Fetch(Publishing& publishing, std::uint64_t version, ReceivedWeights* got) {
    NetworkWeightFetcher fetcher(context_, 77);
    const auto subscriber = fetcher.AddModel(kModel, spec_);
    EXPECT_TRUE(
        fetcher.Connect(publishing.announce_address(), publishing.weights_address(), 5).ok());
    fetcher.NoteVersion(kModel, version);
    return Eventually([&] {
      publishing.PollOnce(0);
      fetcher.PollOnce(MonotonicNs());
      return subscriber->ReceiveNewer(got->stamp, got) && got->stamp.version >= version;
    });
  }
  const ModelSpec spec_ = SmallSpec();
  SocketContext context_;
  std::string log_;
};

TEST_F(PublishingTest, OnlyTheNewestOfSeveralPostsIsPublished) {
  const auto publishing = Open(true);
  const auto subscriber = Subscribe(Add(*publishing));
  const std::uint32_t before = subscriber->word()->load();
  for (std::uint64_t version = 1; version <= 3; ++version)
    publishing->Post(kModel, Sample(version));
  publishing->PollOnce(0);
  ReceivedWeights got;
  ASSERT_TRUE(subscriber->ReceiveNewer({}, &got));
  EXPECT_EQ(got.stamp, (VersionStamp{5, 3}));
  EXPECT_EQ(subscriber->word()->load(), before + 1) << "one publication";
}

TEST_F(PublishingTest, ModelWithASegmentIsOnTheNetworkForWhoeverPullsIt) {
  const auto publishing = Open(true);
  EXPECT_NE(Add(*publishing), "");
  publishing->Post(kModel, Sample(1));
  publishing->Post(kModel, Sample(2));
  publishing->PollOnce(0);
  ReceivedWeights got;
  ASSERT_TRUE(Fetch(*publishing, 2, &got));
  EXPECT_EQ(got.stamp.version, 2u);
  publishing->Post(kModel, Sample(3));
  ASSERT_TRUE(Fetch(*publishing, 3, &got));
  EXPECT_TRUE(IsWhole(spec_, got));
}

TEST_F(PublishingTest, WithoutSharedMemoryTheNetworkServes) {
  const auto publishing = Open(false);
  EXPECT_EQ(Add(*publishing), "");
  publishing->Post(kModel, Sample(1));
  ReceivedWeights got;
  EXPECT_TRUE(Fetch(*publishing, 1, &got));
}

TEST_F(PublishingTest, SegmentThatCannotBeMadeIsLoggedAndTheNetworkServes) {
  const auto first = Open(true);
  const std::string name = Add(*first);
  Publishing::Options options;
  options.announce_address = UniqueIpcAddress();
  options.weights_address = UniqueIpcAddress();
  const std::string run = name.substr(name.find("run-"));
  options.run = run.substr(0, run.find("-npc-"));
  options.incarnation = 5;
  options.log = [this](LogLevel, std::string_view message) { log_ += message; };
  auto second = Publishing::Open(context_, options);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE((*second)->AddModel(kModel, spec_, true).ok()) << "required: a status";
  const Result<std::string> segment = (*second)->AddModel(kModel, spec_, false);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(*segment, "");
  EXPECT_NE(log_.find(name), std::string::npos) << log_;
  (*second)->Post(kModel, Sample(1));
  ReceivedWeights got;
  EXPECT_TRUE(Fetch(**second, 1, &got));
}

TEST_F(PublishingTest, PostWakesTheThreadThatPolls) {
  const auto publishing = Open(true);
  const auto subscriber = Subscribe(Add(*publishing));
  Loop loop(
      "mmr-publish", [&] { publishing->PollOnce(60'000); }, [&] { publishing->Wake(); });
  const std::int64_t start = MonotonicNs();
  for (std::uint64_t version = 1; version <= 10; ++version) {
    const std::uint32_t seen = subscriber->word()->load();
    publishing->Post(kModel, Sample(version));
    const FutexWait wait{subscriber->word(), seen};
    while (subscriber->word()->load() == seen) WaitForAny(std::span(&wait, 1), 60'000);
  }
  EXPECT_LT(MonotonicNs() - start, 2 * kNanosecondsPerSecond) << "not by its heartbeats, 1 s each";
}

TEST_F(PublishingTest, ModelsAreAddedWhileOthersArePublished) {
  const auto publishing = Open(true);
  const auto subscriber = Subscribe(Add(*publishing));
  std::vector<std::string> segments(8);
  {
    Loop loop(
        "mmr-publish", [&] { publishing->PollOnce(1000); }, [&] { publishing->Wake(); });
    std::thread adder([&] {
      for (int i = 0; i < 8; ++i) segments[i] = Add(*publishing, "model" + std::to_string(i));
    });
    for (std::uint64_t version = 1; version <= 50; ++version) {
      publishing->Post(kModel, Sample(version));
    }
    adder.join();
    publishing->Post("model7", Sample(9));
    ReceivedWeights got;
    const auto late = Subscribe(segments[7]);
    EXPECT_TRUE(Eventually([&] { return late->ReceiveNewer({}, &got); }));
    EXPECT_TRUE(Eventually(
        [&] { return subscriber->ReceiveNewer(got.stamp, &got) && got.stamp.version == 50; }));
  }
  EXPECT_EQ(std::count(segments.begin(), segments.end(), ""), 0);
}

}  // namespace
}  // namespace murmurate
