// A program of one's own at the shards: what its arrays become has the bits of what a learner's
// parameters become by the same gradients, under every rule; and what it is told when it errs.
#include "server/parameters/array_worker.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <thread>

#include "server/parameters/remote_store.h"
#include "server/parameters/rule_text.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr double kRate = 0.05;

/// The problem of a Bowl, as a program has it that knows no layout: arrays in memory of their own,
/// cut where no cache line ends.
class OwnProgram {
 public:
  explicit OwnProgram(std::uint64_t seed) : bowl_(seed) {
    const int total = static_cast<int>(bowl_.trained().size());
    std::size_t at = 0;
    for (const int size : {1, 7, 30, 50, total - 88}) {
      named_.push_back({"array" + std::to_string(named_.size()), {size}});
      arrays_.emplace_back(bowl_.trained().begin() + static_cast<std::ptrdiff_t>(at),
                           bowl_.trained().begin() + static_cast<std::ptrdiff_t>(at) + size);
      gradients_.emplace_back(static_cast<std::size_t>(size));
      at += static_cast<std::size_t>(size);
    }
  }

  std::unique_ptr<ArrayWorker> Open(const std::vector<std::string>& shards,
                                    ArrayWorkerOptions options = {}) {
    options.log = [](LogLevel, std::string_view) {};
    std::vector<std::span<float>> memory(arrays_.begin(), arrays_.end());
    auto worker = ArrayWorker::Open(shards, named_, memory, std::move(options));
    EXPECT_TRUE(worker.ok()) << worker.status().message();
    return *std::move(worker);
  }
  std::vector<std::span<const float>> Gradients() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      for (std::size_t j = 0; j < arrays_[i].size(); ++j)
        gradients_[i][j] = arrays_[i][j] - bowl_.target[at++];
    return {gradients_.begin(), gradients_.end()};
  }
  /// Steps the arrays itself, as plain SGD does.
  void Step() {
    const auto gradients = Gradients();
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      for (std::size_t j = 0; j < arrays_[i].size(); ++j) {
        const float moved = static_cast<float>(kRate) * gradients[i][j];
        arrays_[i][j] -= moved;
      }
  }
  std::vector<float> Numbers() const {
    std::vector<float> numbers;
    for (const auto& array : arrays_) numbers.insert(numbers.end(), array.begin(), array.end());
    return numbers;
  }
  std::string Text() const { return ArrayListText(named_); }

 private:
  Bowl bowl_;
  std::vector<NamedArray> named_;
  std::vector<std::vector<float>> arrays_, gradients_;
};

void WaitFor(ArrayWorker& worker) {
  const auto done = worker.Wait(20 * kSecondNs);
  ASSERT_TRUE(done.ok()) << done.status().message();
  ASSERT_TRUE(*done) << "no answer";
}

void Push(ArrayWorker& worker, OwnProgram& program) {
  const Status pushed = worker.Push(program.Gradients(), kRate);
  ASSERT_TRUE(pushed.ok()) << pushed.message();
  WaitFor(worker);
}

ShardSettings SettingsOf(RuleName name, PushForm form, int workers) {
  ShardSettings settings;
  settings.rule = DefaultRule(name, workers);
  settings.rule.form = form;
  settings.rule.window = name == RuleName::kSync || name == RuleName::kAsgd ? 1 : 4;
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  settings.workers = workers;
  return settings;
}

std::vector<float> Bits(std::span<const float> values) { return {values.begin(), values.end()}; }

struct Form {
  RuleName rule;
  PushForm form;
  int shards;
};

/// One after the other; behind a barrier at once, as neither is answered before both have pushed.
void InTurn(bool at_once, const std::function<void()>& first, const std::function<void()>& second) {
  std::thread other;
  if (at_once) other = std::thread(second);
  first();
  if (at_once) other.join();
  if (!at_once) second();
}

class ArrayRules : public testing::TestWithParam<Form> {
 protected:
  OptimizerSettings LocalOptimizer() const {
    const bool momentum = GetParam().rule == RuleName::kAeamsgd;
    OptimizerSettings settings;
    settings.name = momentum ? OptimizerSettings::Name::kMomentum : OptimizerSettings::Name::kSgd;
    return settings;
  }
};

INSTANTIATE_TEST_SUITE_P(, ArrayRules,
                         testing::Values(Form{RuleName::kAsgd, PushForm::kGradient, 1},
                                         Form{RuleName::kAsgd, PushForm::kGradient, 3},
                                         Form{RuleName::kDownpour, PushForm::kGradient, 2},
                                         Form{RuleName::kDownpour, PushForm::kDelta, 2},
                                         Form{RuleName::kAgn, PushForm::kDelta, 1},
                                         Form{RuleName::kAgn, PushForm::kGradient, 1},
                                         Form{RuleName::kAdag, PushForm::kDelta, 2},
                                         Form{RuleName::kDynSgd, PushForm::kDelta, 1},
                                         Form{RuleName::kSync, PushForm::kGradient, 2},
                                         Form{RuleName::kSagn, PushForm::kGradient, 2},
                                         Form{RuleName::kEasgd, PushForm::kElastic, 2},
                                         Form{RuleName::kAeasgd, PushForm::kElastic, 2},
                                         Form{RuleName::kAeamsgd, PushForm::kElastic, 1}),
                         [](const auto& param) {
                           return std::string(TextOf(param.param.rule)) + TextOf(param.param.form) +
                                  std::to_string(param.param.shards);
                         });

TEST_P(ArrayRules, TwoWorkersInTurnHaveTheBitsOfTwoLearners) {
  const auto [rule, form, shards] = GetParam();
  const bool barrier = IsSynchronous(rule);
  LiveCluster learners(Transport::kSegment, SettingsOf(rule, form, 2), shards);
  LiveCluster programs(Transport::kSegment, SettingsOf(rule, form, 2), shards);
  learners.remote.optimizer = LocalOptimizer();
  Bowl bowls[] = {Bowl(1), Bowl(2)};
  OwnProgram own[] = {OwnProgram(1), OwnProgram(2)};
  std::unique_ptr<RemoteStore> stores[] = {learners.NewWorker(0), learners.NewWorker(1)};
  std::unique_ptr<ArrayWorker> workers[2];
  for (std::uint32_t i : {0u, 1u}) {
    ASSERT_TRUE(stores[i]->BeginBatch(bowls[i].parameters)) << learners.failure;
    workers[i] = own[i].Open(programs.remote.shards,
                             {.worker = i, .optimizer = LocalOptimizer(), .log = {}});
    ASSERT_TRUE(workers[i]->Pull().ok());
    WaitFor(*workers[i]);
  }
  for (int step = 0; step < 24; ++step) {
    InTurn(
        barrier, [&] { EXPECT_TRUE(bowls[0].Descend(*stores[0], kRate, 1)) << learners.failure; },
        [&] { EXPECT_TRUE(bowls[1].Descend(*stores[1], kRate, 1)) << learners.failure; });
    InTurn(
        barrier, [&] { Push(*workers[0], own[0]); }, [&] { Push(*workers[1], own[1]); });
    for (int i : {0, 1}) ASSERT_EQ(own[i].Numbers(), Bits(bowls[i].trained())) << step;
  }
  const ArrayReport report = workers[1]->Report();
  EXPECT_EQ(report.rule.name, rule);
  EXPECT_EQ(report.pushes, 24u / static_cast<unsigned>(report.rule.window));
  EXPECT_EQ(report.late, 0u);
  if (!barrier) {
    EXPECT_EQ(report.staleness, 1.0) << "the other's push came between";
  }
}

class ArraysSteppedByTheProgram : public ArrayRules {};
INSTANTIATE_TEST_SUITE_P(, ArraysSteppedByTheProgram,
                         testing::Values(Form{RuleName::kDownpour, PushForm::kDelta, 2},
                                         Form{RuleName::kAgn, PushForm::kDelta, 1},
                                         Form{RuleName::kAdag, PushForm::kDelta, 2},
                                         Form{RuleName::kEasgd, PushForm::kElastic, 2},
                                         Form{RuleName::kAeasgd, PushForm::kElastic, 1}),
                         [](const auto& param) { return std::string(TextOf(param.param.rule)); });

/// It exchanges them after every fourth step; a learner's store does the same with its own SGD.
TEST_P(ArraysSteppedByTheProgram, AreExchangedAsALearnersSteps) {
  const auto [rule, form, shards] = GetParam();
  LiveCluster learners(Transport::kSegment, SettingsOf(rule, form, 1), shards);
  LiveCluster programs(Transport::kSegment, SettingsOf(rule, form, 1), shards);
  learners.remote.optimizer = LocalOptimizer();
  Bowl bowl(1);
  OwnProgram own(1);
  const auto store = learners.NewWorker(0);
  const auto worker = own.Open(programs.remote.shards);
  ASSERT_TRUE(worker->Pull().ok());
  WaitFor(*worker);
  for (int exchange = 0; exchange < 6; ++exchange) {
    ASSERT_TRUE(bowl.Descend(*store, kRate, 4)) << learners.failure;
    for (int step = 0; step < 4; ++step) own.Step();
    ASSERT_TRUE(worker->Exchange(4).ok());
    WaitFor(*worker);
    ASSERT_EQ(own.Numbers(), Bits(bowl.trained())) << exchange;
  }
}

class ArrayWorkerTest : public testing::Test {
 protected:
  LiveCluster cluster_{Transport::kSegment, SettingsOf(RuleName::kAsgd, PushForm::kGradient, 1), 2};
  OwnProgram program_{1};
};

TEST_F(ArrayWorkerTest, AnExchangeGoesOnWhileTheProgramComputes) {
  const auto worker = program_.Open(cluster_.remote.shards);
  ASSERT_TRUE(worker->Pull().ok());
  EXPECT_TRUE(worker->under_way());
  WaitFor(*worker);
  const std::vector<float> before = program_.Numbers();
  ASSERT_TRUE(worker->Push(program_.Gradients(), kRate).ok());
  EXPECT_TRUE(worker->under_way());
  EXPECT_EQ(program_.Numbers(), before) << "only Wait writes the arrays";
  const Status twice = worker->Push(program_.Gradients(), kRate);
  EXPECT_EQ(twice.code(), StatusCode::kUnavailable);
  EXPECT_THAT(twice.message(), HasSubstr("call wait"));
  WaitFor(*worker);
  EXPECT_NE(program_.Numbers(), before);
  EXPECT_EQ(worker->Report().pushes, 1u);
  EXPECT_EQ(worker->Report().version, 1u);
}

TEST_F(ArrayWorkerTest, WhatIsSteppedDuringAnExchangeIsKept) {
  LiveCluster cluster(Transport::kSegment, SettingsOf(RuleName::kDownpour, PushForm::kDelta, 1), 1);
  const auto worker = program_.Open(cluster.remote.shards, {.overlap = true, .log = {}});
  ASSERT_TRUE(worker->Pull().ok());
  WaitFor(*worker);
  OwnProgram alone(1);
  for (int i = 0; i < 5; ++i) {
    program_.Step();
    ASSERT_TRUE(worker->Exchange(1).ok());
    program_.Step();
    WaitFor(*worker);
  }
  for (int i = 0; i < 10; ++i) alone.Step();
  const auto there = program_.Numbers(), here = alone.Numbers();
  for (std::size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(there[i], here[i], 1e-6);
}

TEST_F(ArrayWorkerTest, GradientsThatCannotBeUsedAreRefusedAndNothingIsPushed) {
  const auto worker = program_.Open(cluster_.remote.shards);
  EXPECT_EQ(worker->Push(program_.Gradients(), kRate).code(), StatusCode::kUnavailable);
  ASSERT_TRUE(worker->Pull().ok());
  WaitFor(*worker);
  const std::vector<float> before = program_.Numbers();
  auto gradients = program_.Gradients();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  gradients[0] = {&nan, 1};
  EXPECT_THAT(worker->Push(gradients, kRate).message(), HasSubstr("not finite"));
  gradients.pop_back();
  EXPECT_THAT(worker->Push(gradients, kRate).message(), HasSubstr("got 4 gradients, expected 5"));
  EXPECT_THAT(worker->Push(program_.Gradients(), -1.0).message(), HasSubstr("learning rate"));
  EXPECT_THAT(worker->Exchange(1).message(), HasSubstr("the rule asgd pushes gradients"));
  EXPECT_FALSE(worker->under_way());
  Push(*worker, program_);
  EXPECT_NE(program_.Numbers(), before);
  EXPECT_EQ(worker->Report().version, 1u);
}

TEST_F(ArrayWorkerTest, WhatDoesNotFitTheShardsIsSaidInOneSentence) {
  const auto first = program_.Open(cluster_.remote.shards);
  ASSERT_TRUE(first->Pull().ok());
  WaitFor(*first);
  const auto refusal = [&](const std::vector<std::string>& shards, std::vector<NamedArray> named,
                           const ArrayWorkerOptions& options) {
    std::vector<float> numbers(named[0].count());
    auto worker = ArrayWorker::Open(shards, named, {numbers}, options);
    if (!worker.ok()) return worker.status().message();
    EXPECT_TRUE((*worker)->Pull().ok());
    const auto waited = (*worker)->Wait(20 * kSecondNs);
    EXPECT_FALSE(waited.ok());
    EXPECT_EQ((*worker)->Pull().message(), waited.status().message()) << "it is final";
    return waited.status().message();
  };
  const auto& shards = cluster_.remote.shards;
  const std::vector<NamedArray> one = {{"w", {2, 3}}};
  EXPECT_THAT(refusal({shards[0]}, one, {}), HasSubstr("is shard 0 of 2, and 1 addresses"));
  EXPECT_THAT(refusal({shards[1], shards[0]}, one, {}), HasSubstr("is shard 1 of 2"));
  EXPECT_THAT(refusal(shards, one, {.worker = 1, .log = {}}),
              HasSubstr("array 0 is \"w\" instead of \"array0\""));
  EXPECT_THAT(refusal(shards, {{"array0", {2}}}, {.worker = 1, .log = {}}),
              HasSubstr("\"array0\" has the shape [2] instead of [1]"));
  EXPECT_THAT(refusal({}, one, {}), HasSubstr("no address"));
  EXPECT_THAT(refusal(shards, {{"a b", {1}}}, {}), HasSubstr("no space"));
  EXPECT_THAT(refusal(shards, {{"a", {0}}}, {}), HasSubstr("each size must be 1 or more"));
}

TEST_F(ArrayWorkerTest, AShardThatIsAwayIsWaitedForAsLongAsTheCallerSays) {
  LiveCluster cluster(Transport::kSegment, SettingsOf(RuleName::kAsgd, PushForm::kGradient, 1), 1,
                      false);
  const auto worker = program_.Open(cluster.remote.shards);
  ASSERT_TRUE(worker->Pull().ok());
  EXPECT_FALSE(*worker->Wait(10'000'000));
  EXPECT_FALSE(*worker->Wait(1'200'000'000));
  EXPECT_THAT(worker->Report().waits, HasSubstr("which has never answered; start it with"));
  cluster.shard(0).Start();
  WaitFor(*worker);
  EXPECT_EQ(worker->Report().waits, "");

  cluster.shard(0).Kill();
  ASSERT_TRUE(worker->Push(program_.Gradients(), kRate).ok());
  EXPECT_FALSE(*worker->Wait(10'000'000));
  cluster.shard(0).Start();  // with nothing: it gets the arrays
  WaitFor(*worker);
  EXPECT_EQ(worker->Report().pushes, 1u);

  cluster.shard(0).Kill();
  ASSERT_TRUE(worker->Push(program_.Gradients(), kRate).ok());
  auto waits = std::async(std::launch::async, [&] { return worker->Wait(-1); });
  worker->Interrupt();
  const auto interrupted = waits.get();
  EXPECT_EQ(interrupted.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(worker->Pull().code(), StatusCode::kUnavailable);
}

TEST_F(ArrayWorkerTest, InterruptedBeforeAnyShardAnsweredItReturns) {
  const auto worker = program_.Open({"ipc:///tmp/murmurate-no-such-shard"});
  ASSERT_TRUE(worker->Pull().ok());
  auto waits = std::async(std::launch::async, [&] { return worker->Wait(-1); });
  worker->Interrupt();
  EXPECT_EQ(waits.get().status().code(), StatusCode::kUnavailable);
}

/// Without it, 500 answered pushes that the checkpoint lacks would go with their worker.
TEST_F(ArrayWorkerTest, OneThatLeavesFirstGivesAShardThatWasStartedAgainWhatItLacks) {
  LiveCluster cluster(Transport::kSegment, SettingsOf(RuleName::kAsgd, PushForm::kGradient, 1), 1);
  auto worker = program_.Open(cluster.remote.shards);
  ASSERT_TRUE(worker->Pull().ok());
  WaitFor(*worker);
  Push(*worker, program_);
  while (cluster.saved(0) == nullptr) Push(*worker, program_);
  const auto saved = cluster.saved(0);
  while (worker->Report().pushes < 500) Push(*worker, program_);
  cluster.shard(0).Kill();
  ASSERT_TRUE(worker->Push(program_.Gradients(), kRate).ok());
  cluster.shard(0).Start([&](ParameterServer& server) {
    EXPECT_TRUE(server.Resume("default", program_.Text(), *saved).ok());
  });
  worker.reset();
  EXPECT_GE(cluster.shard(0).Stop().Find("default")->version(), 500u);
}

/// Else its number would be taken for a while when the shard is started again.
TEST_F(ArrayWorkerTest, OneThatHasLeftIsNoMemberInTheLastCheckpoint) {
  LiveCluster cluster(Transport::kSegment, SettingsOf(RuleName::kAsgd, PushForm::kGradient, 2), 1);
  OwnProgram other(1);
  auto first = program_.Open(cluster.remote.shards);
  auto second = other.Open(cluster.remote.shards, {.worker = 1, .log = {}});
  for (ArrayWorker* worker : {first.get(), second.get()}) {
    ASSERT_TRUE(worker->Pull().ok());
    WaitFor(*worker);
  }
  Push(*first, program_);
  first.reset();
  second.reset();
  ParameterServer& server = cluster.shard(0).Stop();
  for (int i = 0; i < 20; ++i) server.PollOnce(5);  // what they said last may be on its way
  const auto saved = cluster.saved(0);
  ASSERT_NE(saved, nullptr);
  const ShardSettings settings = SettingsOf(RuleName::kAsgd, PushForm::kGradient, 2);
  Shard again(settings, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(again.Load(*saved, program_.Text()).ok());
  again.Tick(1);
  for (const std::uint32_t number : {0u, 1u}) {
    wire::Join join;
    join.model = "default";
    join.spec = program_.Text();
    join.rule = settings.ToText();
    join.worker = number;
    EXPECT_TRUE(again.Join(100 + number, join, 2).ok()) << "worker " << number;
  }
}

TEST_F(ArrayWorkerTest, TheFirstAnswerWaitsForTheCheckpointOfWhatTheModelBeginsWith) {
  SocketContext context;
  ParameterServerOptions options;
  options.settings = [](const std::string&) {
    return SettingsOf(RuleName::kAsgd, PushForm::kGradient, 1);
  };
  options.address = "ipc:///tmp/mmr-first-checkpoint-" + std::to_string(getpid());
  options.save_every_ns = kSecondNs;
  options.answers_after_checkpoint = true;
  std::vector<std::shared_ptr<const SavedState>> saved;
  options.on_save = [&](const std::string&, const Shard& shard) {
    auto state = std::make_shared<SavedState>();
    shard.Save(state.get());
    saved.push_back(std::move(state));
  };
  auto server = ParameterServer::Open(context, options);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const auto worker = program_.Open({options.address});
  ASSERT_TRUE(worker->Pull().ok());
  const auto poll = [&] {
    (*server)->PollOnce(5);
    return *worker->Wait(1'000'000);
  };
  while (saved.empty()) ASSERT_FALSE(poll());
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(poll()) << "it is not on disk";
  (*server)->PostKept("default", saved[0]);
  int polls = 0;
  while (!poll()) ASSERT_LT(++polls, 1000);
  EXPECT_EQ(saved.size(), 1u);
}

TEST(RuleText, OfEveryRuleIsReadBackAsTheWorkerNeedsIt) {
  for (const auto& [name, text] : kRuleNames) {
    if (SharesMemory(name)) continue;
    for (const PushForm form : {PushForm::kGradient, PushForm::kDelta, PushForm::kElastic}) {
      if (!HasForm(name, form)) continue;
      ShardSettings settings = SettingsOf(name, form, 7);
      settings.rule.adag_scale = 0.123456789;
      settings.backup = IsSynchronous(name) ? 2 : 0;
      settings.max_grad_norm = 0.5;
      settings.normalize_reward = form == PushForm::kDelta;
      const auto read = ParseRuleText(settings.ToText());
      ASSERT_TRUE(read.ok()) << read.status().message();
      ShardSettings same = *read;
      same.optimizer = settings.optimizer;
      EXPECT_EQ(same.ToText(), settings.ToText());
    }
  }
  EXPECT_FALSE(ParseRuleText("").ok());
  EXPECT_FALSE(ParseRuleText("rule sync, form gradient, window x").ok());
}

}  // namespace
}  // namespace murmurate
