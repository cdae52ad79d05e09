// A worker at the edges: left out of a round, with statistics from elsewhere, beside other models.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <optional>

#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/wire/messages.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

ShardSettings Settings(RuleName name, int workers = 1) {
  ShardSettings settings;
  settings.rule = {.name = name, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  settings.workers = workers;
  settings.dead_after_ns = 60'000'000'000;  // none of these tests is about the dead
  return settings;
}

std::vector<float> Bits(std::span<const float> values) { return {values.begin(), values.end()}; }

TEST(RemoteEdges, AWorkerThatRoundsWentOnWithoutPullsBeforeItLearnsAgain) {
  LiveCluster cluster(Transport::kMessages, Settings(RuleName::kSync, 2), 1);
  Bowl busy(1), idle(2);
  const auto works = cluster.NewWorker(0), waits = cluster.NewWorker(1);
  std::thread first([&] { EXPECT_TRUE(idle.Descend(*waits, 0.05, 1)); });
  ASSERT_TRUE(busy.Descend(*works, 0.05, 1));
  first.join();
  // Returns once worker 1 has said that it waits for experience, two seconds after its batch.
  ASSERT_TRUE(busy.Descend(*works, 0.05, 3)) << cluster.failure;
  ASSERT_NE(Bits(idle.trained()), Bits(busy.trained()));
  (void)waits->CollectReport();
  ASSERT_TRUE(waits->BeginBatch(idle.parameters));
  EXPECT_EQ(Bits(idle.trained()), Bits(busy.trained()));
  std::thread other([&] { EXPECT_TRUE(busy.Descend(*works, 0.05, 1)); });
  (void)waits->Step(0.05, idle.Gradient(), idle.trained());
  waits->EndBatch(idle.parameters);
  other.join();
  EXPECT_EQ(waits->CollectReport().late, 0u);
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 5u);
}

// What is held out may take long to score, and is no wait for experience: the barrier waits then.
TEST(RemoteEdges, WhoScoresIsWaitedForAndWhoHasScoredForTwoSecondsMore) {
  LiveCluster cluster(Transport::kMessages, Settings(RuleName::kSync, 2), 1);
  Bowl busy(1), idle(2);
  const auto works = cluster.NewWorker(0), scores = cluster.NewWorker(1);
  std::thread first([&] { EXPECT_TRUE(idle.Descend(*scores, 0.05, 1)); });
  ASSERT_TRUE(busy.Descend(*works, 0.05, 1));
  first.join();
  scores->Refresh(idle.parameters);
  auto round = std::async(std::launch::async, [&] { return busy.Descend(*works, 0.05, 1); });
  EXPECT_EQ(round.wait_for(std::chrono::seconds(3)), std::future_status::timeout);
  scores->EndScoring();
  EXPECT_EQ(round.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  works->Interrupt();
  EXPECT_TRUE(round.get());
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 2u);
}

/// Where the statistics of SmallSpec(true) lie.
struct Places {
  ParameterLayout layout{SmallSpec(true)};
  std::size_t count = layout.Find("statistics.observation.count").offset;
  std::size_t mean = layout.Find("statistics.observation.mean").offset;
  std::size_t variance = layout.Find("statistics.observation.variance").offset;
};

TEST(RemoteEdges, OverlappedTheFirstBatchEndsWithTheStatisticsThatWerePulled) {
  LiveCluster cluster(Transport::kMessages, Settings(RuleName::kAsgd), 1);
  cluster.normalized = true;
  cluster.remote.overlap = true;  // so nothing but the pull has been answered when the batch ends
  const auto worker = cluster.NewWorker(0);
  const Places at;
  Bowl problem(1, true);
  ASSERT_TRUE(problem.Descend(*worker, 0.1, 1));
  EXPECT_EQ(problem.parameters[at.count], 0.0f);
  EXPECT_EQ(problem.parameters[at.variance], 1.0f) << "0 would divide by nothing";
}

TEST(RemoteEdges, StatisticsOfAFileToBeginWithCountAsSeen) {
  LiveCluster cluster(Transport::kMessages, Settings(RuleName::kAsgd), 1);
  cluster.normalized = true;
  const auto worker = cluster.NewWorker(0);
  const Places at;
  Bowl problem(1, true);
  problem.parameters[at.count] = 30.0f;  // as initialize_from leaves them
  problem.parameters[at.mean] = 2.0f;
  problem.parameters[at.variance] = 4.0f;
  ASSERT_TRUE(worker->BeginBatch(problem.parameters));
  std::span<float> own = worker->ObservationsSeen(problem.parameters);
  EXPECT_EQ(own[at.count], 30.0f);
  (void)worker->Step(0.1, problem.Gradient(), problem.trained());
  worker->EndBatch(problem.parameters);
  EXPECT_EQ(problem.parameters[at.count], 30.0f);
  EXPECT_EQ(problem.parameters[at.mean], 2.0f);
  EXPECT_EQ(problem.parameters[at.variance], 4.0f);
}

/// A batch of a worker that began with a file: what all have seen, then what it says it has.
std::pair<float, float> CountsAfterABatch(RemoteStore& worker, Bowl& problem) {
  const Places at;
  EXPECT_TRUE(worker.BeginBatch(problem.parameters));
  const float own = worker.ObservationsSeen(problem.parameters)[at.count];
  (void)worker.Step(0.1, problem.Gradient(), problem.trained());
  worker.EndBatch(problem.parameters);
  return {problem.parameters[at.count], own};
}

TEST(RemoteEdges, StatisticsOfAFileToBeginWithCountOnceHoweverManyBeginWithIt) {
  LiveCluster cluster(Transport::kMessages, Settings(RuleName::kAsgd, 3), 2);
  cluster.normalized = true;
  const Places at;
  std::vector<Bowl> problems;
  std::vector<std::unique_ptr<RemoteStore>> workers;
  for (std::uint32_t i = 0; i < 3; ++i) {
    problems.emplace_back(1, true);
    problems[i].parameters[at.count] = 30.0f;
    problems[i].parameters[at.mean] = 2.0f;
    problems[i].parameters[at.variance] = 4.0f;
    workers.push_back(cluster.NewWorker(i));
  }
  const std::pair began(30.0f, 30.0f), came_later(30.0f, 0.0f);
  EXPECT_EQ(CountsAfterABatch(*workers[0], problems[0]), began);
  EXPECT_EQ(CountsAfterABatch(*workers[1], problems[1]), came_later);
  EXPECT_EQ(CountsAfterABatch(*workers[2], problems[2]), came_later);
  EXPECT_EQ(problems[2].parameters[at.mean], 2.0f);
  EXPECT_EQ(problems[2].parameters[at.variance], 4.0f);
}

std::string AddressOf(const std::string& name) {
  return "ipc://" +
         (std::filesystem::temp_directory_path() / ("mmr-" + name + '-' + std::to_string(getpid())))
             .string();
}

/// A shard on the test's own thread, and a worker that says what the test tells it to.
class ByHand : public testing::Test {
 protected:
  explicit ByHand(std::int64_t dead_after_ns = 60'000'000'000) {
    ShardSettings settings = Settings(RuleName::kAsgd);
    settings.dead_after_ns = dead_after_ns;
    join_.model = "m";
    join_.spec = SmallSpec().ToText();
    join_.rule = settings.ToText();
    ParameterServerOptions options;
    options.settings = [settings](const std::string&) { return settings; };
    options.address = AddressOf("by-hand");
    auto server = ParameterServer::Open(context_, options);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    auto socket = Socket::Open(context_, SocketKind::kDealer);
    EXPECT_TRUE(socket.ok() && socket->Connect(options.address).ok());
    socket_.emplace(*std::move(socket));
  }

  void Say(const wire::Body& body, std::span<const float> block = {}) {
    const auto bytes = std::as_bytes(block);
    const wire::Encoded encoded = wire::Encode(body, 77, 0, bytes.size());
    Message message;
    message.frames.emplace_back(std::span<const std::byte>(encoded.header));
    message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
    if (std::holds_alternative<wire::Push>(body)) message.frames.emplace_back(bytes);
    EXPECT_TRUE(PollUntil([&] { return socket_->TrySend(message) == SendOutcome::kSent; }));
  }
  template <typename Kind>
  Kind Hear() {
    Message message;
    EXPECT_TRUE(PollUntil([&] { return socket_->TryReceive(&message); }));
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    const auto decoded = wire::Decode(frames);
    const auto* found = std::get_if<wire::Decoded>(&decoded);
    const auto* heard = found != nullptr ? std::get_if<Kind>(&found->body) : nullptr;
    EXPECT_NE(heard, nullptr);
    return heard != nullptr ? *heard : Kind{};
  }
  bool PollUntil(const std::function<bool()>& condition) {
    const std::int64_t deadline_ns = MonotonicNs() + 20'000'000'000;
    while (!condition() && MonotonicNs() < deadline_ns) server_->PollOnce(5);
    return MonotonicNs() < deadline_ns;
  }

  wire::Join join_;
  SocketContext context_;
  std::unique_ptr<ParameterServer> server_;
  std::optional<Socket> socket_;
};

/// Once a worker has left its entry is memory for nothing: it does not come back.
TEST_F(ByHand, AWorkerThatSaidByeIsUnknown) {
  Say(join_);
  (void)Hear<wire::Joined>();
  Say(wire::Bye{});
  Say(wire::Push{.step = 1});
  EXPECT_EQ(Hear<wire::Error>().sentence, "join first");
}

class Silent : public ByHand {
 protected:
  Silent() : ByHand(1'000'000'000) {}
};

/// It may have been stopped for a while, and push again what was merged.
TEST_F(Silent, AWorkerIsForgottenButNotItsPushes) {
  const std::vector<float> ones(ParameterLayout(SmallSpec()).trained_count(), 1.0f);
  Say(join_);
  (void)Hear<wire::Joined>();
  Say(wire::Push{}, ones);
  (void)Hear<wire::Center>();
  Say(wire::Push{.step = 1, .learning_rate = 0.5}, ones);
  EXPECT_EQ(Hear<wire::Center>().version, 1u);
  ASSERT_TRUE(PollUntil([&] { return server_->Find("m")->members() == 0; }));
  Say(wire::Push{.step = 1, .learning_rate = 0.5}, ones);
  EXPECT_EQ(Hear<wire::Error>().sentence, "join first");
  Say(join_);
  EXPECT_EQ(Hear<wire::Joined>().step, 1u);
  Say(wire::Push{.step = 1, .learning_rate = 0.5}, ones);
  EXPECT_EQ(Hear<wire::Center>().version, 1u);
}

/// Model "b" has a rule of its own.
TEST(RemoteEdges, EachModelHasTheSettingsOfItsName) {
  const std::string address = AddressOf("models");
  SocketContext context;
  ParameterServerOptions options;
  options.settings = [](const std::string& model) {
    return Settings(model == "b" ? RuleName::kDynSgd : RuleName::kAsgd);
  };
  options.address = address;
  LiveShard shard(context, options);
  shard.Start();
  const auto failure_of = [&](const std::string& model, RuleName rule) {
    RemoteSettings settings;
    settings.shard = Settings(rule);
    settings.shards = {address};
    std::string failure;
    RemoteStore store(settings, model, SmallSpec(),
                      {{}, [&](const Status& status) { failure = status.message(); }});
    Bowl problem(1);
    const bool learned = problem.Descend(store, 0.1, 1);
    EXPECT_EQ(learned, failure.empty());
    return failure;
  };
  EXPECT_EQ(failure_of("a", RuleName::kAsgd), "");
  EXPECT_EQ(failure_of("b", RuleName::kDynSgd), "");
  EXPECT_THAT(failure_of("b", RuleName::kAsgd), HasSubstr("start both with the same config"));
  EXPECT_THAT(failure_of("a", RuleName::kDynSgd), HasSubstr("start both with the same config"));
}

}  // namespace
}  // namespace murmurate
