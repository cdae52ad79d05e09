// Ranks are threads here (threads_collective.h), whose sums are taken in the order of the ranks, so
// that what is expected can be said bit for bit. The engines: collective_test.cc. The same over
// MPI: tests/server/collective_test.cc.
#include "server/parameters/collective_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "server/parameters/local_store.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/parameter_layout.h"
#include "tests/parameters/quadratic.h"
#include "tests/parameters/threads_collective.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

const ModelSpec& Spec() {
  static const ModelSpec kSpec = *ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 1\naction discrete 2\ndense 4 tanh\n"
      "separate_value 1\nnormalize_observation 1\n");
  return kSpec;
}

const ParameterLayout& Layout() {
  static const ParameterLayout kLayout(Spec());
  return kLayout;
}

CollectiveSettings Sgd() { return {.optimizer = {.name = OptimizerSettings::Name::kSgd}}; }

/// One rank: its job, its store, its parameters; what the store told.
struct Rank {
  std::unique_ptr<CollectiveJob> job;
  std::unique_ptr<CollectiveStore> store;
  AlignedFloats parameters;
  int over = 0;
  std::vector<Status> failures;

  std::span<float> trained() { return {parameters.data(), Layout().trained_count()}; }
  double Step(double rate, float gradient) {
    return Step(rate, std::vector<float>(trained().size(), gradient));
  }
  double Step(double rate, const std::vector<float>& gradient) {
    return store->Step(rate, gradient, trained());
  }
  void Open(const CollectiveSettings& settings) {
    store = std::make_unique<CollectiveStore>(
        job.get(), settings, Spec(),
        CollectiveCallbacks{[this] { ++over; },
                            [this](Status status) { failures.push_back(std::move(status)); }});
  }
};

class CollectiveStoreTest : public testing::Test {
 protected:
  /// The last ranks may be left without a store.
  void Make(int size, const CollectiveSettings& settings, int stores = 1000) {
    ranks.clear();
    auto collectives = ThreadsCollective::Make(size);
    first = static_cast<ThreadsCollective*>(collectives[0].get());
    ranks.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ranks[i].job = std::make_unique<CollectiveJob>(std::move(collectives[i]));
      ranks[i].parameters = AlignedFloats(Layout().total);
      if (static_cast<int>(i) < stores) ranks[i].Open(settings);
    }
  }

  /// Every rank on a thread of its own.
  void Each(const std::function<void(int, Rank&)>& act) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      threads.emplace_back([&, i] { act(static_cast<int>(i), ranks[i]); });
    for (std::thread& thread : threads) thread.join();
  }

  void LeaveAll() {
    Each([](int, Rank& rank) {
      rank.store.reset();
      EXPECT_EQ(rank.job->Leave().ok(), rank.failures.empty());
    });
  }

  ThreadsCollective* first = nullptr;
  std::vector<Rank> ranks;
};

std::vector<float> GradientOf(int rank, int step) {
  Quadratic problem(Layout().trained_count(), static_cast<std::uint64_t>(100 * rank + step));
  return problem.start;
}

TEST_F(CollectiveStoreTest, RanksTakeTheStepsOfOneLearnerThatSumsTheirGradients) {
  const CollectiveSettings settings{.optimizer = {}, .max_grad_norm = 0.5};  // Adam
  Make(3, settings);
  constexpr int kSteps = 6;
  Each([&](int r, Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    for (int i = 0; i < kSteps; ++i) EXPECT_GT(rank.Step(0.01, GradientOf(r, i)), 0.5);
    rank.store->EndBatch(rank.parameters);
  });
  LocalStore one(MakeOptimizer(settings.optimizer, Layout().trained_count()), 0.5);
  std::vector<float> x(Layout().trained_count(), 0.0f);
  for (int i = 0; i < kSteps; ++i) {
    const auto a = GradientOf(0, i), b = GradientOf(1, i), c = GradientOf(2, i);
    std::vector<float> mean(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) mean[j] = (a[j] + b[j] + c[j]) / 3.0f;
    one.Step(0.01, mean, x);
  }
  for (Rank& rank : ranks) EXPECT_TRUE(SameBits(rank.trained(), x));
  LeaveAll();
}

// Each rank has seen more with each batch: rank r ten returns of mean r + 1 in a batch.
TEST_F(CollectiveStoreTest, RanksHaveSeenTheReturnsOfAll) {
  CollectiveSettings settings = Sgd();
  settings.normalize_reward = true;
  Make(3, settings);
  for (int batch = 1; batch <= 2; ++batch) {
    Each([&](int r, Rank& rank) {
      ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
      const auto known = rank.store->PopReturns();
      if (batch == 1)  // rank 0 goes on from a checkpoint and brings what all had seen
        EXPECT_EQ(known.has_value(), r == 0);
      else
        EXPECT_EQ(known.value_or(Moments()).count, 30.0);
      rank.store->ShareReturns({10.0 * batch, r + 1.0, 0.0});
      rank.Step(0.5, 1.0f);
      rank.store->EndBatch(rank.parameters);
    });
  }
  for (Rank& rank : ranks) {
    const Moments all = rank.store->PopReturns().value_or(Moments());
    EXPECT_EQ(all.count, 60.0);
    EXPECT_DOUBLE_EQ(all.mean, 2.0);
    EXPECT_DOUBLE_EQ(all.m2, 40.0);
  }
  LeaveAll();
}

// g = rank + 1 at a rate of 1/2: means 2, then (2 + 3) / 2, then 3; so x = -(2 + 2.5 + 3) / 2.
TEST_F(CollectiveStoreTest, WhoHasFewerStepsGoesOnWithTheOthers) {
  Make(3, Sgd());
  for (int batch = 1; batch <= 2; ++batch) {
    Each([&](int r, Rank& rank) {
      ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
      for (int i = 0; i <= r; ++i) rank.Step(0.5, static_cast<float>(r + 1));
      rank.store->EndBatch(rank.parameters);
      EXPECT_EQ(rank.trained()[0], -3.75f * static_cast<float>(batch));
      EXPECT_EQ(rank.store->updates(), 3u * batch);
    });
  }
  LeaveAll();
}

TEST_F(CollectiveStoreTest, TheRateIsThatOfRankZero) {
  Make(2, Sgd());
  Each([&](int r, Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    rank.Step(r == 0 ? 0.25 : 8.0, 1.0f);  // -0.25
    if (r == 1) rank.Step(8.0, 1.0f);      // -0.25: rank 0 has none, but its rate counts
    rank.store->EndBatch(rank.parameters);
    EXPECT_EQ(rank.trained()[0], -0.5f);
  });
  LeaveAll();
}

TEST_F(CollectiveStoreTest, AllBeginWithTheModelAndTheOptimizerOfRankZero) {
  const CollectiveSettings settings;
  Make(2, settings);
  LocalStore before(MakeOptimizer(settings.optimizer, Layout().trained_count()), 0.0);
  std::vector<float> x(Layout().trained_count(), 1.0f);
  before.Step(0.1, GradientOf(5, 0), x);
  SavedState state;
  before.Save(StateWriter(&state, "optimizer"));
  std::copy(x.begin(), x.end(), ranks[0].parameters.begin());
  ASSERT_TRUE(ranks[0].store->Load(StateReader(state, "optimizer")).ok());
  const std::vector<float> gradient = GradientOf(6, 0);
  Each([&](int, Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    rank.Step(0.1, gradient);
    rank.store->EndBatch(rank.parameters);
  });
  before.Step(0.1, gradient, x);
  for (Rank& rank : ranks) {
    EXPECT_TRUE(SameBits(rank.trained(), x));
    EXPECT_EQ(rank.store->updates(), 2u);
  }
  LeaveAll();
}

// 1, 2, 3 were seen by rank 0 and 5, 7, 9, 11 by rank 1: seven numbers of mean 38/7.
TEST_F(CollectiveStoreTest, WhatEachHasSeenCountsOnce) {
  Make(2, Sgd());
  const std::size_t count = Layout().Find("statistics.observation.count").offset;
  const std::size_t mean = Layout().Find("statistics.observation.mean").offset;
  const std::size_t variance = Layout().Find("statistics.observation.variance").offset;
  for (int batch = 0; batch < 3; ++batch) {
    Each([&](int r, Rank& rank) {
      ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
      if (batch == 0) {
        const std::span<float> seen = rank.store->ObservationsSeen(rank.parameters);
        seen[count] = r == 0 ? 3.0f : 4.0f;
        seen[mean] = r == 0 ? 2.0f : 8.0f;
        seen[variance] = r == 0 ? 2.0f / 3 : 5.0f;
      }
      rank.store->EndBatch(rank.parameters);
      EXPECT_EQ(rank.parameters[count], 7.0f);
      EXPECT_FLOAT_EQ(rank.parameters[mean], 38.0f / 7);
      EXPECT_FLOAT_EQ(rank.parameters[variance],
                      static_cast<float>(290.0 / 7 - (38.0 / 7) * (38.0 / 7)));
    });
  }
  LeaveAll();
}

// As a file to begin with, or a checkpoint, brings them: they are rank 0's.
TEST_F(CollectiveStoreTest, StatisticsOfTheBeginningCountOnce) {
  Make(3, Sgd());
  const std::size_t count = Layout().Find("statistics.observation.count").offset;
  const std::size_t mean = Layout().Find("statistics.observation.mean").offset;
  Each([&](int, Rank& rank) {
    rank.parameters[count] = 10.0f;
    rank.parameters[mean] = 0.5f;
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    rank.store->EndBatch(rank.parameters);
    EXPECT_EQ(rank.parameters[count], 10.0f);
    EXPECT_EQ(rank.parameters[mean], 0.5f);
  });
  LeaveAll();
}

TEST_F(CollectiveStoreTest, AMeanThatIsNotFiniteIsLeftOutByAllAlike) {
  Make(2, Sgd());
  Each([&](int r, Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    const float bad = r == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
    EXPECT_FALSE(std::isfinite(rank.Step(0.5, bad)));
    EXPECT_TRUE(std::isfinite(rank.Step(0.5, 1.0f)));
    rank.store->EndBatch(rank.parameters);
    EXPECT_EQ(rank.trained()[0], -0.5f);
    EXPECT_EQ(rank.store->updates(), 1u);
  });
  LeaveAll();
}

TEST_F(CollectiveStoreTest, WhoLeavesStopsAllAtTheSameBorder) {
  Make(3, Sgd());
  Each([&](int r, Rank& rank) {
    int batches = 0;
    while (rank.store->BeginBatch(rank.parameters)) {
      rank.Step(0.5, 1.0f);
      rank.store->EndBatch(rank.parameters);
      if (++batches == 4 && r == 1) break;
    }
    EXPECT_EQ(batches, 4);
    EXPECT_EQ(r != 1 && rank.store->BeginBatch(rank.parameters), false);
    rank.store.reset();
    EXPECT_EQ(rank.over, r == 1 ? 0 : 1);
    EXPECT_TRUE(rank.job->Leave().ok());
    EXPECT_EQ(rank.trained()[0], -2.0f);
  });
}

TEST_F(CollectiveStoreTest, ARankThatNeverHadAModelStopsTheOthers) {
  Make(2, Sgd(), /*stores=*/1);
  Each([&](int r, Rank& rank) {
    if (r == 0) {
      EXPECT_FALSE(rank.store->BeginBatch(rank.parameters));
      rank.store.reset();
      EXPECT_EQ(rank.over, 1);
    }
    EXPECT_TRUE(rank.job->Leave().ok());
  });
}

// Rank 0 waits at a border with its vote for a next batch, and is told to stop. Rank 1 comes soon:
// both take that batch, and both end behind it.
TEST_F(CollectiveStoreTest, WhoIsInterruptedAtABorderTakesTheBatchThatItVotedFor) {
  CollectiveSettings patient = Sgd();
  patient.patience_ns = std::numeric_limits<std::int64_t>::max() / 2;
  Make(2, patient);
  const auto learn = [](Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    rank.Step(0.5, 1.0f);
    rank.store->EndBatch(rank.parameters);
  };
  std::thread waits([&] { learn(ranks[0]); });
  while (first->arrived() == 0) std::this_thread::yield();
  ranks[0].store->Interrupt();
  learn(ranks[1]);
  waits.join();
  EXPECT_FALSE(ranks[0].store->BeginBatch(ranks[0].parameters));
  std::thread asks([&] { ranks[0].job->AskToStop(); });
  EXPECT_FALSE(ranks[1].store->BeginBatch(ranks[1].parameters));
  asks.join();
  EXPECT_EQ(ranks[1].over, 1);
  EXPECT_EQ(ranks[0].trained()[0], -0.5f);
  EXPECT_EQ(ranks[1].trained()[0], -0.5f);
  LeaveAll();
}

// The others take a batch longer than it waits: it adds nothing to the next one, and all stop at
// the border behind that.
TEST_F(CollectiveStoreTest, WhoIsInterruptedAtABorderHoldsNobodyUp) {
  CollectiveSettings impatient = Sgd();
  impatient.patience_ns = 0;
  for (const bool first_batch : {true, false}) {
    Make(2, impatient);
    std::fill(ranks[0].trained().begin(), ranks[0].trained().end(), 3.0f);
    if (!first_batch) {
      Each([&](int, Rank& rank) {
        ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
        rank.store->EndBatch(rank.parameters);
      });
    }
    std::thread waits([&] { EXPECT_FALSE(ranks[0].store->BeginBatch(ranks[0].parameters)); });
    while (first->arrived() == 0) std::this_thread::yield();
    ranks[0].store->Interrupt();
    waits.join();
    EXPECT_FALSE(ranks[0].store->BeginBatch(ranks[0].parameters));
    ranks[0].job->AskToStop();  // its vote was for a next batch, and stays so
    Each([&](int r, Rank& rank) {
      if (r == 1) {
        ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
        rank.Step(0.5, 1.0f);
        rank.Step(0.5, 1.0f);
        rank.store->EndBatch(rank.parameters);
        EXPECT_EQ(rank.trained()[0], 2.0f);  // from rank 0's 3, by steps of its own alone
        EXPECT_FALSE(rank.store->BeginBatch(rank.parameters));
      }
      rank.store.reset();
      EXPECT_TRUE(rank.job->Leave().ok());
    });
    EXPECT_EQ(ranks[0].over, 0);
    EXPECT_EQ(ranks[1].over, 1);
  }
}

TEST_F(CollectiveStoreTest, AnEngineThatFailsEndsLearningAndHoldsNobodyUp) {
  Make(2, Sgd());
  Each([&](int, Rank& rank) {
    ASSERT_TRUE(rank.store->BeginBatch(rank.parameters));
    rank.store->EndBatch(rank.parameters);
  });
  std::thread waits([&] { EXPECT_TRUE(std::isnan(ranks[0].Step(0.5, 1.0f))); });
  while (first->arrived() == 0) std::this_thread::yield();
  first->Break();
  waits.join();
  ranks[0].store->EndBatch(ranks[0].parameters);
  EXPECT_FALSE(ranks[0].store->BeginBatch(ranks[0].parameters));
  EXPECT_EQ(ranks[0].trained()[0], 0.0f);
  ASSERT_EQ(ranks[0].failures.size(), 1u);
  EXPECT_THAT(ranks[0].failures[0].message(), HasSubstr("a rank is gone"));
  ranks[0].store.reset();
  EXPECT_FALSE(ranks[0].job->Leave().ok());
}

TEST_F(CollectiveStoreTest, RanksOfDifferentModelsAreRefusedByAll) {
  CollectiveSettings norm = Sgd(), decay = Sgd(), name = Sgd();
  norm.max_grad_norm = 1.0;
  decay.optimizer.weight_decay = 1e-9f;
  name.optimizer.name = OptimizerSettings::Name::kMomentum;
  for (const CollectiveSettings& other : {norm, decay, name}) {
    Make(3, Sgd(), /*stores=*/2);
    ranks[2].Open(other);
    Each([&](int, Rank& rank) {
      EXPECT_FALSE(rank.store->BeginBatch(rank.parameters));
      ASSERT_EQ(rank.failures.size(), 1u);
      EXPECT_THAT(rank.failures[0].message(), HasSubstr("1 of 3 have other spaces"));
    });
  }
}

TEST(CollectiveState, EveryBitOfRankZeroArrives) {
  auto collectives = ThreadsCollective::Make(2);
  SavedState all, none;
  all.floats["a"] = {1.5f, -0.0f};
  all.doubles["b"] = {0.1, -1e300, std::numeric_limits<double>::infinity()};
  all.words["c"] = {0, 1, 0x0123456789abcdef, UINT64_MAX};
  none.floats["a"].resize(2);
  none.doubles["b"].resize(3);
  none.words["c"].resize(4);
  std::thread other([&] { EXPECT_TRUE(BroadcastState(*collectives[1], &none).ok()); });
  SavedState sent = all;
  EXPECT_TRUE(BroadcastState(*collectives[0], &sent).ok());
  other.join();
  EXPECT_EQ(sent, all);
  EXPECT_EQ(none, all);
  EXPECT_TRUE(std::signbit(none.floats["a"][1]));
}

}  // namespace
}  // namespace murmurate
