// A learner that is saved between two batches and loaded into another goes on bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "shared/model/policy_and_value.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

constexpr int kAgents = 4, kLength = 8;

struct Case {
  const char* name;
  PolicyAndValue spec;
  AlgorithmSettings settings;
};

PolicyAndValue Recurrent() {
  PolicyAndValue spec = ExampleSpec();
  spec.trunk = {*Layer::Parse("gru 4")};
  spec.separate_value = false;
  return spec;
}

PolicyAndValue Continuous() {
  PolicyAndValue spec = ExampleSpec(true);
  spec.spaces.action = Box({2});
  return spec;
}

AlgorithmSettings With(bool normalize_reward, int threads) {
  AlgorithmSettings settings = ExamplePpo();
  settings.normalize_reward = normalize_reward;
  settings.threads = threads;
  settings.learning_rate.to = 1e-3;
  settings.learning_rate.steps = 200;
  return settings;
}

/// What `kAgents` agents of any game play as the `number`th batch, one trajectory after the other;
/// an episode now and then lasts over the border.
class Play {
 public:
  explicit Play(const ModelSpec& spec) : layout_(spec, kLength) {}

  TrainingBatch Batch(int number) const {
    TrainingBatch batch(layout_, kAgents);
    for (int agent = 0; agent < kAgents; ++agent) Add(agent, number, &batch);
    return batch;
  }

 private:
  void Add(int agent, int number, TrainingBatch* batch) const {
    Random random(
        DeriveSeed(static_cast<std::uint64_t>(agent), static_cast<std::uint64_t>(number)));
    std::vector<float> observation(3 * kLength), reward(kLength), log_prob(kLength), next(3);
    std::vector<std::int32_t> action;
    for (float& x : observation) x = 2.0f * random.Uniform() - 1.0f;
    for (float& x : reward) x = 5.0f * random.Uniform();
    for (float& x : log_prob) x = -0.5f - random.Uniform();
    for (int i = 0; i < kLength * layout_.action.words(); ++i) {
      action.push_back(layout_.action.one_choice() ? static_cast<std::int32_t>(random.UniformInt(2))
                                                   : std::bit_cast<std::int32_t>(random.Uniform()));
    }
    std::vector<std::uint8_t> flags(kLength);
    flags[3] = kTerminatedFlag;
    flags[4] = kFirst;
    const std::vector<float> state(static_cast<std::size_t>(layout_.state_floats), 0.25f);
    TrajectoryView view;
    view.agent = static_cast<std::uint32_t>(agent);
    view.first_step = static_cast<std::uint64_t>(number) * kLength;
    view.version = static_cast<std::uint64_t>(number) + 1;
    view.steps = kLength;
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.next_observation = RowsOf(next);
    view.state0 = state;
    ASSERT_TRUE(batch->Add(view));
  }

  const TrajectoryLayout layout_;
};

class LearnerState : public testing::TestWithParam<Case> {
 protected:
  /// The batches [from, to).
  static void Train(Learner* learner, int from, int to) {
    const Play play(GetParam().spec);
    for (int i = from; i < to; ++i) {
      TrainingBatch batch = play.Batch(i);
      const LearnReport report =
          learner->Learn(batch, static_cast<std::uint64_t>(i) * kAgents * kLength);
      ASSERT_GT(report.updates, 0u);
      ASSERT_EQ(report.skipped_updates, 0u);
    }
  }
  static SavedState StateOf(const Learner& learner) {
    SavedState state;
    learner.Save(&state);
    return state;
  }
  static Status Resume(const Learner& from, Learner* into) {
    const auto snapshot = from.MakeSnapshot();
    return into->Load(snapshot->version, 0, snapshot->parameters, StateOf(from));
  }
};

TEST_P(LearnerState, SavedAndLoadedInBetweenGivesTheSameBitsAsNeverStopping) {
  const auto& [name, spec, settings] = GetParam();
  Learner whole(spec, settings, 5), first(spec, settings, 5), second(spec, settings, 99);
  Train(&whole, 0, 5);
  Train(&first, 0, 3);
  ASSERT_TRUE(Resume(first, &second).ok());
  EXPECT_EQ(second.version(), 4u);
  Train(&second, 3, 5);
  EXPECT_EQ(second.version(), whole.version());
  EXPECT_EQ(ParametersOf(second), ParametersOf(whole));
  EXPECT_EQ(StateOf(second), StateOf(whole));
}

TEST_P(LearnerState, WithoutAnyOneOfItsSectionsItIsRefused) {
  const auto& [name, spec, settings] = GetParam();
  Learner saved(spec, settings, 5);
  Train(&saved, 0, 2);
  const SavedState whole = StateOf(saved);
  const auto snapshot = saved.MakeSnapshot();
  const auto refused = [&](auto SavedState::*map, const std::string& key) {
    SavedState state = whole;
    (state.*map).erase(key);
    Learner learner(spec, settings, 5);
    const Status status = learner.Load(snapshot->version, 0, snapshot->parameters, state);
    EXPECT_EQ(status.code(), StatusCode::kInvalidData) << key;
    EXPECT_NE(status.message().find(key), std::string::npos) << status.message();
  };
  for (const auto& [key, values] : whole.floats) refused(&SavedState::floats, key);
  for (const auto& [key, values] : whole.doubles) refused(&SavedState::doubles, key);
  for (const auto& [key, values] : whole.words) refused(&SavedState::words, key);
  EXPECT_EQ(whole.floats.size(), 2u) << "the optimizer's two moments";
}

TEST(LearnerStateTest, TheFirstSnapshotOfALearnerThatGoesOnActsAsTheLastOneDid) {
  AlgorithmSettings settings = ExamplePpo();
  AlgorithmKind kind = *settings.kind;
  kind.act = [](const AlgorithmSettings&, std::uint64_t learned_steps) {
    return ActSettings{.temperature = learned_steps < 1000 ? 2.0f : 1.0f};
  };
  settings.kind = &kind;
  Learner saved(ExampleSpec(), settings, 5), again(ExampleSpec(), settings, 6);
  EXPECT_EQ(again.MakeSnapshot()->act.temperature, 2.0f);
  SavedState state;
  saved.Save(&state);
  const auto snapshot = saved.MakeSnapshot();
  ASSERT_TRUE(again.Load(snapshot->version, 1000, snapshot->parameters, state).ok());
  EXPECT_EQ(again.MakeSnapshot()->act.temperature, 1.0f);
}

TEST(LearnerStateTest, AnotherModelsParametersAreRefused) {
  Learner small(ExampleSpec(), ExamplePpo(), 5), large(Recurrent(), ExamplePpo(), 5);
  SavedState state;
  small.Save(&state);
  const auto snapshot = small.MakeSnapshot();
  const Status status = large.Load(1, 0, snapshot->parameters, state);
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  EXPECT_NE(status.message().find("parameters"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, LearnerState,
                         testing::Values(Case{"dense", ExampleSpec(true), With(false, 1)},
                                         Case{"recurrent", Recurrent(), With(false, 1)},
                                         Case{"continuous", Continuous(), With(false, 1)},
                                         Case{"normalize_reward", ExampleSpec(), With(true, 1)},
                                         Case{"threads", ExampleSpec(true), With(true, 2)}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace murmurate
