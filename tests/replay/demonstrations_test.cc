// Recorded play in a replay: it counts nowhere; kept apart, it is never evicted, and has an exact
// part of each minibatch.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "server/replay/replay_store.h"
#include "tests/replay/game.h"
#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kRecordedAgent = 1000;

/// So many steps of one agent, in trajectories of 4.
class OneAgent : public RecordedPlay {
 public:
  explicit OneAgent(int trajectories) {
    PlayedAgent agent(kRecordedAgent);
    for (int i = 0; i < trajectories; ++i)
      sent_.push_back(agent.Play(i % 3 == 2 ? "...x" : "...."));
  }
  std::uint64_t steps() const override { return 4 * sent_.size(); }
  Status Visit(const std::function<void(const TrajectoryView&)>& visit) const override {
    for (PlayedTrajectory trajectory : sent_) visit(trajectory.View());
    return {};
  }

 private:
  std::vector<PlayedTrajectory> sent_;
};

ReplaySettings Small(double share) {
  return {.capacity = 32,
          .window = 2,
          .minibatch = 8,
          .samples_per_insert = 8,
          .learning_starts = 8,
          .most_updates = 2,
          .demonstration_share = share};
}

class DemonstrationsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplayStore> Make(const ReplaySettings& settings, std::uint64_t seed = 1) {
    auto store = ReplayStore::Make(settings, {layout_, seed, PlainBatchMemory()});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  /// 8 steps of two agents.
  void Insert(ReplayStore& store, std::span<const float> errors = {}) {
    store.Insert(game_.Batch(layout_, "...."));
    EXPECT_NE(store.Next(), nullptr);
    store.Learned({.steps = 8, .row_answers = errors});
    EXPECT_NE(store.Release(), nullptr);
  }
  /// Calls visit(minibatch, slot, whether it was recorded, the sample's first step, its weight) of
  /// each sample that is due; `error`(recorded, step): its |TD|.
  template <typename Visit, typename Error>
  void TakeAll(ReplayStore& store, const Visit& visit, const Error& error) {
    while (TrainingBatch* batch = store.Next()) {
      std::vector<float> errors;
      for (std::size_t slot = 0; slot < batch->trajectories.size(); ++slot) {
        const BatchTrajectory& sample = batch->trajectories[slot];
        const bool recorded = sample.agent == kRecordedAgent;
        visit(minibatches_ + slot / 8, slot % 8, recorded, sample.first_step,
              batch->weight[slot * static_cast<std::size_t>(batch->length)]);
        errors.push_back(error(recorded, sample.first_step));
      }
      minibatches_ += batch->trajectories.size() / 8;
      store.Learned({.row_answers = errors});
    }
  }

  const TrajectoryLayout layout_ = PlayedLayout(4);
  Game game_;
  std::size_t minibatches_ = 0;
};

constexpr auto kNoError = [](bool, std::uint64_t) { return 1.0f; };

TEST_F(DemonstrationsTest, ExactlyTheShareOfEachMinibatchIsRecordedAndNoneIsEvicted) {
  const auto store = Make(Small(0.375));
  ASSERT_TRUE(store->Demonstrate(OneAgent(30)).ok()) << "120 steps beside a replay of 32";
  EXPECT_EQ(store->size(), 0u) << "they lie apart";
  std::map<std::size_t, int> recorded_of;
  std::map<std::uint64_t, int> steps;
  for (int round = 0; round < 200; ++round) {
    Insert(*store);
    TakeAll(
        *store,
        [&](std::size_t minibatch, std::size_t slot, bool recorded, std::uint64_t step, float) {
          EXPECT_EQ(recorded, slot >= 5);
          recorded_of[minibatch] += recorded ? 1 : 0;
          if (recorded) ++steps[step];
        },
        kNoError);
  }
  EXPECT_EQ(recorded_of.size(), 199u * 8);
  for (const auto& [minibatch, count] : recorded_of) EXPECT_EQ(count, 3) << minibatch;
  EXPECT_GE(steps.size(), 119u) << "the oldest ones, too, after 1,600 steps were inserted";
  EXPECT_EQ(steps.begin()->first, 0u);
  for (const auto& [step, count] : steps) EXPECT_NEAR(count, 40, 30) << step;
}

TEST_F(DemonstrationsTest, CountAsNoPlayAndAllowNoSamples) {
  for (const double share : {0.0, 0.5}) {
    const auto store = Make(Small(share));
    ASSERT_TRUE(store->Demonstrate(OneAgent(4)).ok());
    EXPECT_EQ(store->counts().credit, 0u);
    EXPECT_EQ(store->counts().steps, 0u);
    EXPECT_EQ(store->counts().batches, 0u);
    EXPECT_EQ(store->Next(), nullptr);
    EXPECT_THAT(store->Waiting(), HasSubstr("collects 0 of 8 steps"));
    Insert(*store);
    EXPECT_EQ(store->Next(), nullptr) << "8 played steps are where learning starts";
    Insert(*store);
    std::size_t samples = 0;
    TakeAll(
        *store, [&](std::size_t, std::size_t, bool, std::uint64_t, float) { ++samples; }, kNoError);
    EXPECT_EQ(samples, 64u) << "8 for each of the 8 steps that were inserted then";
    EXPECT_EQ(store->counts().steps, 16u);
    EXPECT_EQ(store->counts().credit, 4u);
  }
}

TEST_F(DemonstrationsTest, WithoutAShareTheyAreTheOldestOfTheReplay) {
  const auto store = Make(Small(0.0));
  EXPECT_THAT(store->Demonstrate(OneAgent(9)).message(),
              HasSubstr("begins with 36 recorded steps and keeps 32"));
  ASSERT_TRUE(store->Demonstrate(OneAgent(6)).ok());
  EXPECT_EQ(store->size(), 24u);
  std::map<int, int> recorded_of;
  for (int round = 0; round < 6; ++round) {
    Insert(*store);
    TakeAll(
        *store,
        [&](std::size_t, std::size_t, bool recorded, std::uint64_t, float) {
          recorded_of[round] += recorded ? 1 : 0;
        },
        kNoError);
  }
  EXPECT_GT(recorded_of[1], 0);
  EXPECT_EQ(recorded_of[5], 0) << "32 played steps came after them";
}

TEST_F(DemonstrationsTest, TooFewForASampleAreRefused) {
  ReplaySettings settings = Small(0.5);
  settings.window = 6;
  EXPECT_THAT(Make(settings)->Demonstrate(OneAgent(1)).message(),
              HasSubstr("the 4 demonstrations have no whole sample of 6 steps"));
}

// w = (N P)^-beta with N and P of the part, over the largest of the minibatch.
TEST_F(DemonstrationsTest, WeightsAreOverTheLargestOfBothParts) {
  ReplaySettings settings = Small(0.5);
  settings.capacity = 64;
  settings.priority_exponent = 1.0;
  settings.importance_exponent = 0.5;
  const auto store = Make(settings);
  ASSERT_TRUE(store->Demonstrate(OneAgent(4)).ok());
  // The |TD| of a step, once it was sampled: other ones in the two parts.
  const auto error = [](bool recorded, std::uint64_t step) {
    return (recorded ? 1.0f : 10.0f) * (1.0f + static_cast<float>(step % 4));
  };
  for (int round = 0; round < 8; ++round) {
    Insert(*store);
    TakeAll(
        *store, [](std::size_t, std::size_t, bool, std::uint64_t, float) {}, error);
  }
  // Nothing is inserted any more but one batch: by now nearly every P is that of its own error.
  std::map<std::size_t, std::vector<std::array<double, 3>>> found;
  Insert(*store);
  TakeAll(
      *store,
      [&](std::size_t minibatch, std::size_t, bool recorded, std::uint64_t step, float weight) {
        found[minibatch].push_back({recorded ? 1.0 : 0.0, double{error(recorded, step)}, weight});
      },
      error);
  ASSERT_EQ(found.size(), 8u);
  for (const auto& [minibatch, samples] : found) {
    double largest = 0.0;
    for (const auto& a : samples) {
      largest = std::max(largest, a[2]);
      for (const auto& b : samples)  // within a part: (P_b / P_a)^beta
        if (a[0] == b[0] && a[0] == 1.0) EXPECT_NEAR(a[2] / b[2], std::sqrt(b[1] / a[1]), 1e-4);
    }
    EXPECT_NEAR(largest, 1.0, 1e-6);
  }
}

TEST(SamplerTest, SaysWhatItsWeightsWereDividedBy) {
  ReplaySettings settings = Small(0.0);
  settings.priority_exponent = 1.0;
  settings.priority_floor = 1e-9;
  settings.importance_exponent = 0.5;
  TestReplay replay(settings, PlayedLayout(4));
  PlayedAgent agent(0);
  replay.Insert(agent.Play("...x").View());
  for (std::uint64_t row = 0; row < 4; ++row)
    replay.sampler.SetError(row, 1.0f + static_cast<float>(row));
  std::vector<std::uint64_t> rows(8);
  std::vector<float> weights(8);
  for (int draw = 0; draw < 20; ++draw) {
    const double largest = replay.sampler.Draw(rows, weights);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double chance = (1.0 + static_cast<double>(rows[i])) / 10.0;
      EXPECT_NEAR(largest * double{weights[i]}, std::pow(4.0 * chance, -0.5), 1e-5);
    }
  }
  settings.priority_exponent = 0.0;
  TestReplay even(settings, PlayedLayout(4));
  even.Insert(PlayedAgent(0).Play("...x").View());
  EXPECT_EQ(even.sampler.Draw(rows, weights), 1.0);
}

// What was found of a part's samples decides what is drawn of that part.
TEST_F(DemonstrationsTest, EachPartHasItsOwnPriorities) {
  ReplaySettings settings = Small(0.5);
  settings.priority_exponent = 1.0;
  const auto store = Make(settings);
  ASSERT_TRUE(store->Demonstrate(OneAgent(4)).ok());
  std::map<std::uint64_t, int> late;
  int round = 0;
  const auto error = [](bool recorded, std::uint64_t step) {
    return recorded && step == 6 ? 100.0f : 0.01f;
  };
  for (; round < 60; ++round) {
    Insert(*store);
    TakeAll(
        *store,
        [&](std::size_t, std::size_t, bool recorded, std::uint64_t step, float) {
          if (round >= 30 && recorded) ++late[step];
        },
        error);
  }
  int others = 0;
  for (const auto& [step, count] : late)
    if (step != 6) others += count;
  EXPECT_GT(late[6], 50 * std::max(others, 1));
}

}  // namespace
}  // namespace murmurate
