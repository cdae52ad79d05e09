#include "server/replay/replay_store.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "shared/core/random.h"
#include "tests/allocations.h"
#include "tests/replay/game.h"
#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Samples = TrainingBatch::Samples;

/// Batches of two agents with 4 steps each; 2 samples for each insert after the first 8, in
/// minibatches of 4.
ReplaySettings Small() {
  return {.capacity = 64,
          .window = 2,
          .minibatch = 4,
          .samples_per_insert = 2,
          .learning_starts = 8,
          .most_updates = 3};
}

class ReplayStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplayStore> Make(const ReplaySettings& settings, std::uint64_t seed = 1) {
    auto store = ReplayStore::Make(settings, {layout_, seed, PlainBatchMemory()});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  /// What a learner does with a new batch.
  void Insert(ReplayStore& store, std::unique_ptr<TrainingBatch> batch,
              std::span<const float> errors = {}) {
    store.Insert(std::move(batch));
    ASSERT_NE(store.Next(), nullptr);
    store.Learned({.steps = 8, .row_answers = errors});
  }
  static int TakeAll(ReplayStore& store) {
    int samples = 0;
    while (TrainingBatch* batch = store.Next()) {
      samples += static_cast<int>(batch->trajectories.size());
      store.Learned({});
    }
    return samples;
  }

  const TrajectoryLayout layout_ = PlayedLayout(4);
  Game game_;
};

TEST_F(ReplayStoreTest, GivesTheInsertedBatchOnceAndThenSamplesThatAreDue) {
  const auto store = Make(Small());
  auto batch = game_.Batch(layout_, "....", true);
  const TrainingBatch* const inserted = batch.get();
  store->Insert(std::move(batch));
  EXPECT_EQ(store->Release(), nullptr) << "not learned from yet";
  TrainingBatch* fresh = store->Next();
  ASSERT_EQ(fresh, inserted);
  EXPECT_EQ(fresh->samples, Samples::kNew);
  EXPECT_FALSE(fresh->learned);
  EXPECT_EQ(fresh->episodes.size(), 1u);
  EXPECT_EQ(fresh->trajectories[0].agent, 0u) << "in order of (agent, first step)";
  EXPECT_EQ(store->counts().steps, 0u);
  store->Learned({.steps = 7});
  EXPECT_EQ(store->counts().credit, 2u);
  EXPECT_EQ(store->counts().batches, 1u);
  EXPECT_EQ(store->counts().steps, 7u);
  EXPECT_EQ(store->Next(), nullptr) << "8 steps are where learning starts: they allow no samples";
  const auto released = store->Release();
  ASSERT_EQ(released.get(), inserted);
  EXPECT_TRUE(released->trajectories.empty());
  EXPECT_EQ(store->Release(), nullptr);

  Insert(*store, game_.Batch(layout_, "...."));
  TrainingBatch* samples = store->Next();
  ASSERT_NE(samples, nullptr);
  EXPECT_EQ(samples->samples, Samples::kReplayed);
  EXPECT_TRUE(samples->learned);
  EXPECT_TRUE(samples->episodes.empty());
  EXPECT_EQ(samples->length, 2);
  EXPECT_EQ(samples->trajectories.size(), 12u) << "three updates at once, of the four that are due";
  store->Learned({.steps = 12});
  samples = store->Next();
  ASSERT_NE(samples, nullptr);
  EXPECT_EQ(samples->trajectories.size(), 4u);
  store->Learned({.steps = 4});
  EXPECT_EQ(store->Next(), nullptr);
  EXPECT_EQ(store->counts().credit, 4u);
  EXPECT_EQ(store->counts().batches, 2u);
  EXPECT_EQ(store->counts().steps, 15u) << "samples count no steps";
}

TEST_F(ReplayStoreTest, SamplesAreWhatTheAgentsLivedWithRawRewards) {
  const auto store = Make(Small());
  const SampleForm form(Small());
  int cut = 0;
  for (int round = 0; round < 40; ++round) {
    if (round % 4 == 2) game_.Lose(1, "...");
    store->Insert(game_.Batch(layout_, round % 3 == 1 ? ".xt." : "...."));
    std::ranges::fill(store->Next()->reward, 1e6f);  // as the learner scales them
    store->Learned({.steps = 8});
    while (TrainingBatch* batch = store->Next()) {
      EXPECT_TRUE(batch->masked);
      for (int slot = 0; slot < static_cast<int>(batch->trajectories.size()); ++slot) {
        const std::uint32_t agent = batch->trajectories[slot].agent;
        ExpectSample(*batch, slot, game_.agent(agent), form, 1.0f);
        cut += batch->trajectories[slot].steps == 1 && (batch->flags[2 * slot] & ~kFirst) == 0;
      }
      const auto used = batch->trajectories.size() * 2;
      EXPECT_THAT(batch->weight.subspan(used), Each(0.0f)) << "slots without a sample";
      store->Learned({});
    }
    store->Release();
  }
  EXPECT_EQ(store->size(), 64u);
  EXPECT_GT(cut, 5) << "windows that end before steps that were lost";
}

TEST_F(ReplayStoreTest, ABatchThatWasLeftOutWasNeverThere) {
  const auto store = Make(Small());
  Insert(*store, game_.Batch(layout_, "...."));
  store->Release();
  store->Insert(game_.Batch(layout_, "...."));
  ASSERT_NE(store->Next(), nullptr);
  store->Learned({.learned = false, .steps = 8});
  EXPECT_EQ(store->Next(), nullptr);
  EXPECT_EQ(store->counts().credit, 2u);
  EXPECT_EQ(store->counts().batches, 1u);
  EXPECT_EQ(store->size(), 8u);
  EXPECT_NE(store->Release(), nullptr);
}

/// Given again at once, they would be given for ever.
TEST_F(ReplayStoreTest, SamplesThatWereLeftOutAreDueAgainAfterTheNextInsert) {
  const auto store = Make(Small());
  Insert(*store, game_.Batch(layout_, "...."));
  store->Release();
  Insert(*store, game_.Batch(layout_, "...."));
  ASSERT_EQ(store->Next()->trajectories.size(), 12u);
  store->Learned({.learned = false});
  EXPECT_EQ(store->Next(), nullptr);
  store->Release();
  Insert(*store, game_.Batch(layout_, "...."));
  EXPECT_EQ(TakeAll(*store), 32);
}

TEST_F(ReplayStoreTest, HeldOutBatchesAreGivenAndNotKept) {
  const auto store = Make(Small());
  auto batch = game_.Batch(layout_, "....");
  batch->samples = Samples::kHeldOut;
  Insert(*store, std::move(batch));
  EXPECT_EQ(store->size(), 0u);
  EXPECT_EQ(store->counts().batches, 1u);
  EXPECT_EQ(store->counts().credit, 2u);
}

/// The rows that were too old weigh nothing, and have no error.
TEST_F(ReplayStoreTest, TheResultOfANewBatchGivesItsRowsTheirFirstPriorities) {
  ReplaySettings settings = Small();
  settings.window = 1;
  settings.priority_exponent = 1.0;
  settings.samples_per_insert = 512;
  settings.learning_starts = 0;
  const auto store = Make(settings);
  store->Insert(game_.Batch(layout_, "...."));
  TrainingBatch* fresh = store->Next();
  fresh->weight[1] = 0.0f;
  const std::vector<float> errors = {0, 0, 0, 0, 0, 9, 0};  // of all but the second row
  store->Learned({.steps = 7, .row_answers = errors});
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> counts;
  while (TrainingBatch* batch = store->Next()) {
    for (const BatchTrajectory& sample : batch->trajectories)
      ++counts[{sample.agent, sample.first_step}];
    store->Learned({});
  }
  const int all = 512 * 8;
  EXPECT_NEAR((counts[{0, 1}]), all / 10.0, 60) << "the largest so far: 1";
  EXPECT_NEAR((counts[{1, 2}]), all * 0.9, 60);
}

TEST_F(ReplayStoreTest, TheResultOfSamplesIsTheirNewPriorities) {
  ReplaySettings settings = Small();
  settings.priority_exponent = 1.0;
  settings.importance_exponent = 1.0;
  settings.samples_per_insert = 2048;
  settings.learning_starts = 0;
  const auto store = Make(settings);
  Insert(*store, game_.Batch(layout_, "x..."));
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> counts;
  int late = 0;
  for (int round = 0; TrainingBatch* batch = store->Next(); ++round) {
    std::vector<float> errors;
    for (std::size_t slot = 0; slot < batch->trajectories.size(); ++slot) {
      const BatchTrajectory& sample = batch->trajectories[slot];
      errors.push_back(sample.agent == 0 && sample.first_step == 1 ? 3.0f : 1.0f);
      if (round < 100) continue;
      ++counts[{sample.agent, sample.first_step}];
      ++late;
      // Minibatches of 4: with one of each, the frequent one weighs a third.
      const auto minibatch = batch->weight.subspan(slot / 4 * 8, 8);
      const float largest = *std::ranges::max_element(minibatch);
      EXPECT_EQ(largest, 1.0f);
      EXPECT_TRUE(errors.back() != 1.0f || batch->weight[2 * slot] == 1.0f);
    }
    store->Learned({.row_answers = errors});
  }
  EXPECT_EQ(counts.size(), 6u) << "the last step of each agent waits for its window";
  EXPECT_NEAR((counts[{0, 1}]), late * 3 / 8.0, 0.02 * late);
}

TEST_F(ReplayStoreTest, TheSameExperienceAndSeedGiveTheSameBits) {
  for (const double exponent : {0.0, 0.6}) {
    ReplaySettings settings = Small();
    settings.priority_exponent = exponent;
    Game game, same, other;
    const auto first = Make(settings), second = Make(settings), third = Make(settings, 2);
    int differing = 0;
    for (int round = 0; round < 40; ++round) {
      Insert(*first, game.Batch(layout_, ".t.."));
      Insert(*second, same.Batch(layout_, ".t..", true));  // they came in another order
      Insert(*third, other.Batch(layout_, ".t.."));
      while (TrainingBatch* batch = first->Next()) {
        TrainingBatch* its_twin = second->Next();
        ASSERT_EQ(Numbers(*batch), Numbers(*its_twin));
        differing += Numbers(*batch) != Numbers(*third->Next());
        std::vector<float> errors(batch->trajectories.size());
        std::iota(errors.begin(), errors.end(), 0.5f);
        for (ReplayStore* store : {first.get(), second.get(), third.get()})
          store->Learned({.row_answers = errors});
      }
      for (ReplayStore* store : {first.get(), second.get(), third.get()}) store->Release();
    }
    EXPECT_GT(differing, 30);
  }
}

TEST_F(ReplayStoreTest, SaysWhyItGivesNothing) {
  ReplaySettings settings = Small();
  settings.window = 40;
  const auto store = Make(settings);
  EXPECT_EQ(store->Waiting(), "collects 0 of 8 steps before it learns");
  for (int round = 0; round < 2; ++round) {
    Insert(*store, game_.Batch(layout_, "...."));
    store->Release();
  }
  EXPECT_EQ(store->Next(), nullptr);
  EXPECT_EQ(store->Waiting(), "collects steps until a first sample of 40 is complete");
  Insert(*store, game_.Batch(layout_, "...x"));
  EXPECT_EQ(store->Waiting(), "");
  EXPECT_EQ(TakeAll(*store), 32);
  EXPECT_EQ(store->Waiting(),
            "learner waits for experience: 1.00 of the samples that 16 inserts allow are used");
}

TEST_F(ReplayStoreTest, AResumedRunFillsItsReplayAnewAndGoesOnWithItsCounts) {
  const auto store = Make(Small());
  for (int round = 0; round < 2; ++round) {
    Insert(*store, game_.Batch(layout_, "...."));
    store->Release();
  }
  SavedState saved;
  store->Save(StateWriter(&saved, "experience"));
  const auto resumed = Make(Small());
  ASSERT_TRUE(resumed->Load(StateReader(saved, "experience")).ok());
  EXPECT_EQ(resumed->Waiting(), "collects 0 of 8 steps before it learns");
  EXPECT_EQ(resumed->counts().steps, 0u);
  Game other;
  Insert(*resumed, other.Batch(layout_, "...."));
  EXPECT_EQ(TakeAll(*resumed), 16) << "those that the inserts of the first run allow";
  EXPECT_FALSE(resumed->Load(StateReader(SavedState(), "experience")).ok());
}

/// Trajectories of any length, with and without ends: all that is ever taken is in the bytes it
/// says, but for the entry of an agent.
TEST_F(ReplayStoreTest, TakesNoMoreThanItSays) {
  ReplaySettings settings = Small();
  settings.capacity = 3000;
  settings.priority_exponent = 0.5;
  const auto store = Make(settings);
  Game game(40);
  auto random_batch = [&, random = Random(4)]() mutable {
    std::string steps(1 + random.UniformInt(4), '.');
    steps[random.UniformInt(static_cast<std::uint32_t>(steps.size()))] =
        ".xt"[random.UniformInt(3)];
    return game.Batch(layout_, steps);
  };
  std::uint64_t taken = 0;
  for (int round = 0; round < 400; ++round) {
    auto batch = random_batch();
    const std::uint64_t before = AllocatedBytes();
    Insert(*store, std::move(batch));
    TakeAll(*store);
    if (round > 2) taken += AllocatedBytes() - before;
    store->Release();
  }
  EXPECT_LT(taken, 400u * 16);  // Sort's order and gtest's
  EXPECT_LE(store->size(), 3000u);
  EXPECT_GT(store->size(), 2990u);
  EXPECT_EQ(ReplayStore::BytesFor(settings, layout_) % 4, 0u);
}

TEST_F(ReplayStoreTest, AMillionFramesTakeSevenPointTwoGigabytes) {
  const PolicyAndValue pixels{.spaces = {Image({84, 84, 1}), Discrete(4)},
                              .trunk = {},
                              .encoders = {InputEncoder{.input = "", .stack = 4, .layers = {}}}};
  const TrajectoryLayout layout(pixels, 32);
  const ReplaySettings settings{
      .capacity = 1'000'000, .window = 3, .minibatch = 32, .priority_exponent = 0.6};
  EXPECT_LT(ReplayStore::BytesFor(settings, layout), 7'200'000'000u);
}

TEST_F(ReplayStoreTest, RefusesInOneSentence) {
  const auto refusal = [&](const ReplaySettings& settings) {
    return ReplayStore::Make(settings, {layout_, 1, PlainBatchMemory()}).status();
  };
  EXPECT_EQ(refusal({.capacity = 500, .learning_starts = 1000}).message(),
            "a replay of 500 steps never holds the 1,000 that learning starts with");
  EXPECT_EQ(refusal({.capacity = 3, .learning_starts = 0}).message(),
            "a replay of 3 steps has no room for one trajectory of 4");
  EXPECT_EQ(refusal({.sequence = 6}).message(),
            "a sequence has a multiple of 4 steps (a trajectory), not 6");
  EXPECT_EQ(refusal({.window = 0}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal({.samples_per_insert = 0}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal({.priority_exponent = 0.5, .priority_floor = 0}).code(),
            StatusCode::kInvalidArgument);
  const Status large = refusal({.capacity = 4'000'000'000});
  EXPECT_EQ(large.code(), StatusCode::kResource);
  EXPECT_THAT(large.message(), testing::StartsWith("a replay of 4,000,000,000 steps takes "));
}

}  // namespace
}  // namespace murmurate
