// Agents of models that have everything: several inputs, stacked frames, a recurrent state, actions
// of several parts, masks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "client/game_action.h"
#include "murmurate/client.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/weights_file.h"
#include "tests/client/game.h"
#include "tests/client/mixed_game.h"
#include "tests/client/test_learner.h"

namespace murmurate {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

ClientOptions Pacing(WithoutPolicy without = WithoutPolicy::kRandom) {
  return {.without_policy = without};
}

TEST(AnySpaces, ATrajectoryHoldsAllThatItsLogProbabilitiesCameFrom) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(3);
  Action action;
  int trajectories = 0, remembered = 0;
  for (int k = 0; k < 30; ++k) {
    const Scene scene(k);
    bench.agent->Play(scene.Show());
    bench.agent->action().ReadAction(&action);
    EXPECT_TRUE(scene.mask[action.choices("weapon")[0]]);
    EXPECT_TRUE(scene.mask[3 + action.choices("weapon")[1]]);
    EXPECT_LE(std::abs(action.numbers("turn")[0]), 1.0f);
    bench.agent->Reward(k);
    if (k % 7 == 3) bench.agent->End(kTerminated);
    if (k % 7 == 5) {
      bench.agent->observation().Observe(Scene(100 + k).Show());
      bench.agent->End(kTruncated);
    }
    const auto received = bench.PopTrajectory();
    if (received.block == nullptr) continue;
    ++trajectories;
    CheckPlayed(received.view, 3);
    remembered += received.view.state0[0] != 0.0f && !(received.view.flags[0] & kFirst);
    bench.ring->Release(received.block);
  }
  EXPECT_EQ(trajectories, 8) << "a truncation hands over: T = 4 has room for one final";
  EXPECT_GT(remembered, 2) << "trajectories that begin inside an episode";
}

TEST(AnySpaces, RowsAndMasksAreWhatTheGameShowed) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(1);
  for (int k = 0; k < 5; ++k) bench.agent->Play(Scene(k).Show());
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  for (int k = 0; k < 4; ++k) {
    const Scene scene(k);
    const std::byte* row = received.view.observation.data() + k * MixedTrajectory::kRow;
    EXPECT_EQ(PositionIn(row), scene.place[0]);
    EXPECT_EQ(std::memcmp(row + 4, scene.kind.data(), 4), 0);
    EXPECT_EQ(std::memcmp(row + 8, scene.camera.data(), 4), 0);
    const auto mask = received.view.mask.subspan(k * MixedTrajectory::kMask, 5);
    EXPECT_THAT(mask, testing::ElementsAreArray(scene.mask));
  }
  EXPECT_EQ(PositionIn(received.view.next_observation.data()), Scene(4).place[0]);
}

TEST(AnySpaces, AGroupPlaysAsItsAgentsWouldAlone) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(2);
  std::vector<std::unique_ptr<BenchAgent>> agents;
  std::vector<AgentCore*> group;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(std::make_unique<BenchAgent>(bench.model, i, Action(), i == 0 ? 5 : 1));
    agents.back()->shared().Fit(BuffersOf(bench.policies, agents.back()->shared().rows(), 4));
    group.push_back(agents.back().get());
  }
  for (int step = 0; step < 9; ++step) {
    std::vector<Scene> scenes;
    for (int i = 0; i < 5; ++i) scenes.emplace_back(10 * i + step);
    for (int i = 0; i < 5; ++i) {
      agents[i]->observation().Observe(scenes[i].Show());
      agents[i]->observation().SetMask(scenes[i].mask);
    }
    AgentCore::StepTogether(group);
    for (int i = 0; i < 5; ++i) {
      if ((step + i) % 3 == 2) agents[i]->End(kTerminated);
    }
  }
  for (int i = 0; i < 5; ++i) {
    (void)agents[i]->shared().AnyRing([&](const auto& ring) { return bench.ring = ring, false; });
    for (int part = 0; part < 2; ++part) {
      const auto received = bench.PopTrajectory();
      ASSERT_NE(received.block, nullptr) << i;
      CheckPlayed(received.view, 2);
      bench.ring->Release(received.block);
    }
  }
}

/// What the policy sees after a bad row, and what the learner is told it saw, are zeros.
TEST(AnySpaces, ABadRowCostsTheTrajectoryAndLeavesZerosInItsPlace) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(1);
  Scene nan(1), category(2), mask(3);
  nan.place[0] = kNaN;
  category.kind[0] = 3;
  mask.mask = {1, 1, 1, 0, 0};
  for (const Scene* bad : {&nan, &category, &mask}) {
    const std::uint64_t dropped = bench.agent->shared().counts().trajectories_dropped.load();
    bench.agent->Play(Scene(0).Show());
    bench.agent->Play(bad->Show());
    EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), dropped + 1);
    for (int k = 5; k < 10; ++k) bench.agent->Play(Scene(k).Show());
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    EXPECT_EQ(PositionIn(received.view.observation.data()), Scene(5).place[0]);
    EXPECT_EQ(PositionIn(received.view.frames0.data()), Scene(0).place[0]);
    const float seen = bad == &mask ? bad->place[0] : 0.0f;
    EXPECT_EQ(PositionIn(received.view.frames0.data() + MixedTrajectory::kRow), seen);
    CheckPlayed(received.view, 1);
    bench.ring->Release(received.block);
    bench.agent->End(kTerminated);
  }
}

TEST(AnySpaces, TheFirstBadRowIsPutIntoWordsOnce) {
  Workbench bench(4, Pacing(), MixedSpec());
  std::string sentence;
  bench.agent->Play(Scene(1).Show());
  EXPECT_FALSE(bench.agent->shared().PopComplaint(&sentence));
  Scene bad(1);
  bad.mask = {0, 0, 0, 1, 1};
  bench.agent->Play(bad.Show());
  ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
  EXPECT_NE(sentence.find("weapon"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("forbids every choice"), std::string::npos) << sentence;
  bench.agent->Play(bad.Show());
  EXPECT_FALSE(bench.agent->shared().PopComplaint(&sentence));
}

TEST(AnySpaces, BeforeWeightsEveryActionIsValidAndMaskedToo) {
  Workbench bench(4, Pacing(), MixedSpec());
  Action action;
  for (int k = 0; k < 200; ++k) {
    const Scene scene(k);
    bench.agent->Play(scene.Show());
    bench.agent->action().ReadAction(&action);
    const ActionLayout layout(bench.spec.spaces.action);
    EXPECT_TRUE(layout.CheckAction(WordsOf(action).data(), scene.mask.data()).ok());
    EXPECT_LE(std::abs(action.numbers("turn")[0]), 1.0f);
    if (const auto received = bench.PopTrajectory(); received.block != nullptr) {
      EXPECT_EQ(received.view.version, 0u);
      EXPECT_EQ(received.view.state0[0], 0.0f);
      bench.ring->Release(received.block);
    }
  }
}

TEST(AnySpaces, ADefaultActionOfPartsIsPlayedBeforeWeights) {
  Workbench bench(4, Pacing(WithoutPolicy::kDefault), MixedSpec());
  Action idle(bench.spec.spaces.action), action;
  idle.choices("weapon")[0] = 2;
  idle.numbers("turn")[0] = 0.75f;
  BenchAgent agent(bench.model, 1, idle, 1);
  agent.Play(Scene(0).Show());
  agent.action().ReadAction(&action);
  EXPECT_THAT(action.choices("weapon"), testing::ElementsAre(2, 0));
  EXPECT_EQ(action.numbers("turn")[0], 0.75f);
}

TEST(AnySpaces, TookIsRecordedWithItsProbabilityAndNumbersLeftAloneKeepTheirSample) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(1);
  Action action;
  for (int k = 0; k < 5; ++k) {
    Scene scene(k);
    scene.mask.fill(1);
    bench.agent->Play(scene.Show());
    bench.agent->action().ReadAction(&action);
    action.choices("weapon")[0] = k % 3;
    if (k == 2) action.numbers("turn")[0] = 0.5f;
    bench.agent->Took(action);
  }
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(received.view.action[k * MixedTrajectory::kWords], k % 3);
  EXPECT_EQ(std::bit_cast<float>(received.view.action[2 * MixedTrajectory::kWords + 2]), 0.5f);
  CheckPlayed(received.view, 1);
}

TEST(AnySpaces, TookIsRecordedWithTheLogProbabilityThatTheGameStates) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(1);
  Action action;
  for (const float log_prob : {-1.25f, 0.5f, -500.0f, 0.0f, 0.0f}) {
    Scene scene(0);
    scene.mask.fill(1);
    bench.agent->Play(scene.Show());
    bench.agent->action().ReadAction(&action);
    bench.agent->Took(action, log_prob);
  }
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(
      received.view.log_prob,
      testing::ElementsAre(-1.25f, 0.5f, testing::FloatNear(std::log(1e-30f), 1e-3f), 0.0f));
}

TEST(AnySpaces, AStatedDensityOfAScaledNumberIsInTheGamesUnits) {
  PolicyAndValue spec = SmallSpec(3);
  spec.spaces.action = Box({2}, {0, -5}, {100, 5});
  spec.continuous.scaled = true;
  Workbench bench(1, Pacing(), spec);
  bench.Publish(1);
  Action action(spec.spaces.action);
  for (int k = 0; k < 2; ++k) {
    const std::vector<float> seen = bench.Observation(k);
    bench.agent->observation().Observe(std::span<const float>(seen));
    bench.agent->Step();
    bench.agent->Took(action, -std::log(1000.0f));  // uniform over the box
  }
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_NEAR(received.view.log_prob[0], -std::log(4.0f), 1e-5);
}

TEST(AnySpaces, ALogProbabilityThatIsNoneIsRefusedAndChangesNothing) {
  Workbench bench(1, Pacing());
  bench.Publish(1);
  const int drawn = bench.Act(0);
  const std::int32_t other = (drawn + 1) % 4;
  const auto refusal = [&](float log_prob) {
    return bench.agent->TryTook(&other, nullptr, log_prob).message();
  };
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    EXPECT_THAT(refusal(bad), testing::HasSubstr("where a finite number was expected"));
  EXPECT_THAT(refusal(0.25f), testing::HasSubstr("0.250000 where at most 0 was expected"));
  bench.Act(1);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.action[0], drawn);
}

/// A time limit may well find nothing allowed any more.
TEST(AnySpaces, TheMaskOfAFinalObservationDoesNotMatter) {
  Workbench bench(2, Pacing(), MixedSpec());
  bench.Publish(1);
  for (int k = 0; k < 2; ++k) bench.agent->Play(Scene(k).Show());
  Scene final(2);
  final.mask.fill(0);
  bench.agent->observation().Observe(final.Show());
  bench.agent->End(kTruncated);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(PositionIn(received.view.final_observation.data()), final.place[0]);
}

TEST(AnySpaces, OutputsThatAreNotFiniteCostTheTrajectory) {
  PolicyAndValue spec = SmallSpec(40);
  spec.trunk = {{8, Activation::kRelu}};
  Workbench bench(4, Pacing(), spec);
  bench.Publish(1);
  bench.agent->Act(bench.Observation(0));
  const float most = std::numeric_limits<float>::max();  // finite; its products are not
  const int action = bench.agent->Act(std::vector<float>(40, most));
  EXPECT_TRUE(action >= 0 && action < 4);
  EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 1u);
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 2u);
  EXPECT_EQ(bench.agent->shared().counts().steps_given_up.load(), 1u);
  std::string sentence;
  ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
  EXPECT_NE(sentence.find("outputs are not finite"), std::string::npos);
  for (int k = 2; k < 7; ++k) bench.agent->Act(bench.Observation(k));
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.first_step, 2u);
}

TEST(AnySpaces, BlocksOfAnotherLengthDoNotMakeAnAgentForget) {
  Workbench bench(4, Pacing(), MixedSpec());
  bench.Publish(1);
  for (int k = 0; k < 2; ++k) bench.agent->Play(Scene(k).Show());
  auto buffers = BuffersOf(bench.policies, 1, 3);
  bench.ring = buffers->ring;
  bench.agent->shared().Fit(std::move(buffers));
  for (int k = 2; k < 6; ++k) bench.agent->Play(Scene(k).Show());
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_NE(received.view.state0[0], 0.0f);
  EXPECT_EQ(PositionIn(received.view.frames0.data() + MixedTrajectory::kRow), Scene(1).place[0]);
  CheckPlayed(received.view, 1);
}

TEST(AnySpaces, GreedyPlayIsTheSameEveryTime) {
  std::vector<std::vector<std::int32_t>> played;
  for (int run = 0; run < 2; ++run) {
    Workbench bench(4, Pacing(), MixedSpec());
    bench.Publish(6);
    bench.agent->episode().SetMode(PlayMode::kEvaluate);
    Action action;
    std::vector<std::int32_t>& all = played.emplace_back();
    for (int k = 0; k < 20; ++k) {
      bench.agent->Play(Scene(k).Show());
      bench.agent->action().ReadAction(&action);
      for (const std::int32_t word : WordsOf(action)) all.push_back(word);
    }
  }
  EXPECT_EQ(played[0], played[1]);
}

class AnySpacesOverBothPaths : public testing::TestWithParam<bool> {
 protected:
  AnySpacesOverBothPaths()
      : learner_(address_, {.trajectory_length = 4, .shm = GetParam(), .model = MixedSpec()}) {
    auto client = Client::Connect(address_, {.pace = Pace::kCredit});
    EXPECT_TRUE(client.ok());
    client_ = *std::move(client);
    const Spaces spaces = MixedSpec().spaces;
    agent_ = client_->NewAgent({.observation = spaces.observation, .action = spaces.action});
    EXPECT_TRUE(Until([&] { learner_.PollOnce(); }, [&] { return learner_.knows("default"); }));
    learner_.Publish("default", 1);
    EXPECT_TRUE(Until([&] { learner_.PollOnce(); },
                      [&] { return client_->State().state == ClientState::kLive; }));
  }

  const std::string address_ = FreshAddress();
  TestLearner learner_;
  std::unique_ptr<Client> client_;
  Agent agent_;
  Action action_;
};
INSTANTIATE_TEST_SUITE_P(SharedMemoryAndNetwork, AnySpacesOverBothPaths, testing::Bool());

TEST_P(AnySpacesOverBothPaths, WhatArrivesIsWhatWasPlayed) {
  int k = 0;
  std::uint64_t version = 1;
  const auto play = [&] {
    learner_.PollOnce(0);
    const Scene scene(k);
    agent_.Act(scene.Show(), &action_);
    agent_.Reward(k);
    if (k % 7 == 3) agent_.End(kTerminated);
    if (k % 7 == 5) agent_.End(kTruncated, Scene(k + 1000).Show());
    if (++k % 60 == 0) learner_.Publish("default", ++version);
  };
  EXPECT_TRUE(Until(play, [&] {
    const auto& received = learner_.received;
    return received.size() >= 60 && received.back()->view.version >= 3;
  })) << "trajectories, some of them under later weights";
  for (const auto& received : learner_.received) {
    if (received->view.steps > 0) CheckPlayed(received->view, received->view.version);
  }
  EXPECT_EQ(client_->Stats().trajectories_refused, 0u);  // a starved sender may drop, never spoil
}

TEST_P(AnySpacesOverBothPaths, ASavedPolicyPlaysTheSame) {
  const std::string path = testing::TempDir() + "any-" + std::to_string(getpid());
  ASSERT_TRUE(client_->Save(path).ok());
  const auto open = Client::Open({.policy = PolicySource::FromFile(path)});
  ASSERT_TRUE(open.ok()) << open.status();
  const Spaces spaces = MixedSpec().spaces;
  Agent shipped = (*open)->NewAgent({.observation = spaces.observation, .action = spaces.action});
  ASSERT_TRUE(shipped.valid()) << (*open)->last_error();
  Action action;
  for (Agent* agent : {&agent_, &shipped}) agent->Mode(PlayMode::kSilent);
  for (int k = 0; k < 40; ++k) {
    const Scene scene(k);
    agent_.Act(scene.Show(), &action_);
    shipped.Act(scene.Show(), &action);
    EXPECT_EQ(WordsOf(action), WordsOf(action_)) << k;
    if (k % 9 == 8) agent_.End(kTerminated), shipped.End(kTerminated);
  }
  std::remove(path.c_str());
}

TEST(AnySpaces, AShippedPolicySaysWhatItCannotSee) {
  const ModelSpec spec = SmallSpec();
  const WeightsFile file{.spec = spec, .parameters = SomeParameters(spec, 1)};
  std::string said;
  const auto client =
      Client::Open({.policy = PolicySource::FromMemory(FormatWeightsFile(file, true)),
                    .log = [&](LogLevel, std::string_view text) { said += text; }});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = (*client)->NewAgent({.observation = Box({3}), .action = Discrete(4)});
  ASSERT_TRUE(agent.valid()) << (*client)->last_error();
  agent.Act(std::vector<float>{0, kNaN, 0});
  EXPECT_EQ(said, "");
  (void)(*client)->Stats();
  EXPECT_NE(said.find("agent 0 of model default: "), std::string::npos) << said;
}

TEST(AnySpaces, ADefaultActionMustBeOfTheSpace) {
  const Spaces spaces = MixedSpec().spaces;
  auto client = Client::Connect(FreshAddress());
  ASSERT_TRUE(client.ok());
  const auto error = [&](const Action& action) {
    const Agent agent = (*client)->NewAgent(
        {.observation = spaces.observation, .action = spaces.action, .default_action = action});
    return agent.valid() ? "" : (*client)->last_error().message();
  };
  EXPECT_NE(error(1).find("other parts than the action space"), std::string::npos);
  Action action(spaces.action);
  action.choices("weapon")[1] = 2;
  EXPECT_NE(error(action).find("default_action: "), std::string::npos) << error(action);
  action.choices("weapon")[1] = 1;
  EXPECT_EQ(error(action), "");
  Agent agent = (*client)->NewAgent({.observation = spaces.observation, .action = spaces.action});
  EXPECT_DEATH(agent.End(kTruncated), "needs the final observation");
}

}  // namespace
}  // namespace murmurate
