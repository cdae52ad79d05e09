// What a DeviceReplayTrainer promises beside its numbers: the same bits, what it saves and loads, also
// from a learner on this processor, what is left where a gradient is not finite or the device fails,
// and a learner in its loop with a replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "server/device/device_trainers.h"
#include "server/learn/algorithms.h"
#include "server/learn/host_trainer.h"
#include "server/learn/learner.h"
#include "server/learn/rates.h"
#include "server/learn/replay_planner.h"
#include "server/parameters/local_store.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/random_batch.h"
#include "tests/device/replay_cases.h"
#include "tests/device/test_device.h"
#include "tests/device/without_graphs.h"

namespace murmurate {
namespace {

std::vector<ReplayCase> SmallCases() { return {ChoiceCases()[0], SoftCases()[0]}; }

std::unique_ptr<BatchTrainer> OnDevice(const ReplayCase& one, std::shared_ptr<Device> device) {
  auto made = MakeDeviceTrainer(one.spec, one.settings, std::move(device));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

/// A trainer with plans and parameters.
struct Training {
  Training(const ReplayCase& given, std::unique_ptr<BatchTrainer> made)
      : one(given), trainer(std::move(made)), planner(one.settings, 5) {
    trainer->SetParameters(ParametersApart(one.spec));
  }
  BatchSums Train(const TrainingBatch& batch) {
    (void)trainer->Open(1, false);
    trainer->Begin(batch, planner.Plan(batch, Rates::Of(one.settings), 0, 1.0));
    const BatchSums sums = trainer->Finish();
    planner.Began(sums.begun);
    answers.assign(sums.row_answers.begin(), sums.row_answers.end());
    return sums;
  }
  BatchSums Train(std::uint64_t seed) { return Train(ReplayWindows(one, seed)); }
  void PlanAs(const Training& other) {
    SavedState state;
    other.planner.Save(StateWriter(&state, "planner"));
    EXPECT_TRUE(planner.Load(StateReader(state, "planner")).ok());
  }
  std::vector<float> parameters() const {
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
  SavedState Saved() const {
    SavedState state;
    trainer->Save(&state);
    return state;
  }

  const ReplayCase one;
  std::unique_ptr<BatchTrainer> trainer;
  ReplayPlanner planner;
  std::vector<float> answers;
};

TEST(DeviceReplayTrainer, GivesTheSameBitsAgainAndWithoutGraphs) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    Training first(one, OnDevice(one, MakeTestDevice())),
        again(one, OnDevice(one, MakeTestDevice())),
        plain(one, OnDevice(one, std::make_shared<WithoutGraphs>(MakeTestDevice())));
    for (Training* training : {&first, &again, &plain})
      for (std::uint64_t batch = 0; batch < 3; ++batch) (void)training->Train(batch);
    EXPECT_EQ(first.parameters(), again.parameters());
    EXPECT_EQ(first.answers, again.answers);
    EXPECT_EQ(first.parameters(), plain.parameters());
  }
}

/// docs/gpu.md says the numbers.
TEST(DeviceReplayTrainer, EnqueuesSoManyLaunchesAnUpdate) {
  std::vector<std::set<int>> nodes;
  for (const ReplayCase& one : SmallCases()) {
    const auto device = std::make_shared<WithoutGraphs>(MakeTestDevice());
    Training training(one, OnDevice(one, device));
    (void)training.Train(1);
    nodes.push_back(device->nodes());
  }
  EXPECT_EQ(nodes[0], std::set<int>{11}) << "dqn";
  EXPECT_EQ(nodes[1], std::set<int>{98}) << "sac";
}

TEST(DeviceReplayTrainer, GoesOnFromWhatItSavedBitForBit) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    Training whole(one, OnDevice(one, MakeTestDevice({.seed = 3}))),
        resumed(one, OnDevice(one, MakeTestDevice({.seed = 9})));
    for (std::uint64_t batch = 0; batch < 2; ++batch) (void)whole.Train(batch);
    resumed.trainer->SetParameters(whole.trainer->parameters());
    ASSERT_TRUE(resumed.trainer->Load(whole.Saved()).ok());
    resumed.PlanAs(whole);
    (void)whole.Train(2);
    (void)resumed.Train(2);
    EXPECT_EQ(whole.parameters(), resumed.parameters());
    EXPECT_EQ(whole.Saved(), resumed.Saved());
  }
}

/// A run moves between processors: each loads what the other saved.
TEST(DeviceReplayTrainer, ExchangesItsStateWithALearnerOnThisProcessor) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    Training host(one, std::make_unique<HostTrainer>(one.spec, one.settings)),
        device(one, OnDevice(one, MakeTestDevice()));
    (void)host.Train(1);
    device.trainer->SetParameters(host.trainer->parameters());
    ASSERT_TRUE(device.trainer->Load(host.Saved()).ok());
    device.PlanAs(host);
    EXPECT_EQ(device.Saved(), host.Saved());
    (void)host.Train(2);
    (void)device.Train(2);
    Training back(one, std::make_unique<HostTrainer>(one.spec, one.settings));
    ASSERT_TRUE(back.trainer->Load(device.Saved()).ok());
    back.trainer->SetParameters(device.trainer->parameters());
    back.PlanAs(device);
    (void)host.Train(3);
    (void)back.Train(3);
    const std::vector<float> expected = host.parameters(), got = back.parameters();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-4) << i;
  }
}

TEST(DeviceReplayTrainer, LeavesOutAGradientThatIsNotFiniteAndMovesNoTargetAfterIt) {
  for (ReplayCase one : SmallCases()) {
    SCOPED_TRACE(one.name);
    one.settings.target_every = 1;
    one.settings.batch_steps = 4 * one.settings.replay.minibatch;  // one update
    Training training(one, OnDevice(one, MakeTestDevice()));
    TrainingBatch broken = ReplayWindows(one, 1);
    broken.reward[0] = std::numeric_limits<float>::quiet_NaN();
    const BatchSums sums = training.Train(broken);
    EXPECT_EQ(sums.begun, 1u);
    EXPECT_EQ(sums.updates, 0u);
    EXPECT_EQ(sums.skipped, 1u);
    EXPECT_EQ(training.parameters(), ParametersApart(one.spec));
    EXPECT_TRUE(std::isnan(training.answers[0]));
    EXPECT_EQ(training.Train(2).updates, 1u);
    const std::vector<float> after = training.parameters();
    for (const float parameter : after) ASSERT_TRUE(std::isfinite(parameter));
    EXPECT_NE(after, ParametersApart(one.spec));
  }
}

TEST(DeviceReplayTrainer, GoesBackToParametersWithANewOptimizer) {
  const ReplayCase one = SmallCases()[0];
  Training training(one, OnDevice(one, MakeTestDevice())),
      fresh(one, OnDevice(one, MakeTestDevice()));
  (void)training.Train(1);
  EXPECT_TRUE(training.trainer->GoBack(ParametersApart(one.spec)));
  EXPECT_EQ(training.Saved(), fresh.Saved());
  EXPECT_EQ(training.parameters(), fresh.parameters());
}

/// The device is lost at one call of a batch after another.
TEST(DeviceReplayTrainer, HasTheLastFinishedBatchWhereTheDeviceFails) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    int failures = 0;
    for (std::uint64_t calls = 0; calls < 200; calls += 3) {
      const auto device = std::make_shared<HostDevice>();
      Training training(one, OnDevice(one, device));
      EXPECT_GT(training.Train(3).updates, 0u);
      const std::vector<float> parameters = training.parameters();
      const SavedState state = training.Saved();
      device->FailAfter(calls);
      (void)training.Train(4);
      if (training.trainer->Health().ok()) break;
      ++failures;
      EXPECT_EQ(training.trainer->Health().message(), "host device: the device was lost");
      EXPECT_EQ(training.parameters(), parameters);
      const SavedState left = training.Saved();
      EXPECT_EQ(left.doubles, state.doubles) << "what the algorithm carries";
      EXPECT_EQ(left.words.at("optimizer.steps"), std::vector<std::uint64_t>{0});
      EXPECT_FALSE(training.trainer->GoBack(parameters));
    }
    EXPECT_GT(failures, 3);
  }
}

/// So that a device which fails at the beginning is known before anything is learned.
TEST(DeviceReplayTrainer, IsMadeWhenTheDeviceHasDoneAllThatWasAsked) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    const auto device = std::make_shared<HostDevice>();
    const auto made = MakeDeviceTrainer(one.spec, one.settings, device);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(device->finished());
  }
}

TEST(DeviceReplayTrainer, TakesTheMemoryThatIsSaidAndNoLess) {
  for (const ReplayCase& one : SmallCases()) {
    SCOPED_TRACE(one.name);
    DeviceMemoryNeed need = MeasureDeviceMemory(one.spec, one.settings);
    const std::size_t own =
        need.total - need.by_purpose[static_cast<std::size_t>(MemoryPurpose::kLibraries)];
    EXPECT_TRUE(
        MakeDeviceTrainer(one.spec, one.settings,
                          std::make_shared<HostDevice>(HostDeviceOptions{.memory_bytes = own}))
            .ok());
    const auto less =
        MakeDeviceTrainer(one.spec, one.settings,
                          std::make_shared<HostDevice>(HostDeviceOptions{.memory_bytes = own - 1}));
    ASSERT_FALSE(less.ok());
    EXPECT_EQ(less.status().code(), StatusCode::kResource);
    EXPECT_THAT(less.status().message(), testing::HasSubstr("are needed"));
  }
}

TEST(DeviceReplayTrainer, RefusesWhatADeviceDoesNotTrain) {
  const auto refusal = [](const char* kind, const Space& action) {
    AlgorithmSettings settings;
    settings.kind = AlgorithmNamed(kind);
    const auto spec = settings.kind->networks(
        PolicyAndValue{.spaces = {Box({4}), action}, .trunk = {*Layer::Parse("dense 8 tanh")}}
            .ToSpec(),
        settings);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return CheckDeviceTrains(*spec, settings).message();
  };
  EXPECT_EQ(refusal("dqn", Discrete(3)), "");
  EXPECT_EQ(refusal("sac", Box({2}, -1, 1)), "");
  EXPECT_EQ(refusal("ppo", Discrete(3)), "");
  EXPECT_EQ(refusal("sac", Discrete(3)),
            "a GPU trains sac with actions of numbers, and these are choices; write device = "
            "\"cpu\"");
  EXPECT_EQ(refusal("td3", Box({2}, -1, 1)),
            "td3 is trained on the processor only; write device = \"cpu\"");
  ReplayCase one = ChoiceCases()[0];
  one.spec.networks.insert(one.spec.networks.begin() + 1,
                           {.name = "value", .trained = true, .shares = "policy", .outputs = 1});
  EXPECT_THAT(CheckDeviceTrains(one.spec, one.settings).message(),
              testing::HasSubstr("one value for each choice"));
}

TEST(DeviceReplayTrainer, RefusesAStoreOfSeveralLearners) {
  const ReplayCase one = ChoiceCases()[0];
  const ParameterLayout layout(one.spec);
  const auto made = MakeDeviceTrainer(
      one.spec, one.settings, std::make_shared<HostDevice>(),
      std::make_unique<LocalStore>(
          MakeOptimizer(OptimizerOf(one.settings), layout, {0, layout.trained_count()}), 0.5));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(made.status().message(), testing::HasSubstr("several learners of dqn"));
}

/// What a learner makes of random play through its replay.
struct Played {
  std::vector<float> parameters;
  std::uint64_t updates = 0, version = 0;
};
Played Play(ReplayCase one, std::unique_ptr<BatchTrainer> trainer) {
  Learner learner(one.spec, one.settings, 7, Initialization{}, std::move(trainer));
  const TrajectoryLayout layout(one.spec, one.settings.trajectory_length);
  const auto store = *learner.MakeStore(layout, PlainBatchMemory());
  Played played;
  for (std::uint64_t i = 0; i < 6; ++i) {
    store->Insert(
        std::make_unique<TrainingBatch>(RandomBatch(one.spec, one.settings, 100 + i, one.masks)));
    while (TrainingBatch* const batch = store->Next()) {
      const LearnReport report = learner.Learn(*batch, i * 32);
      store->Learned({!report.left_out, report.trained_steps, learner.row_answers()});
      played.updates += report.updates;
    }
    (void)store->Release();
  }
  const auto snapshot = learner.MakeSnapshot();
  played.parameters.assign(snapshot->parameters.begin(), snapshot->parameters.end());
  played.version = learner.version();
  return played;
}

TEST(DeviceReplayTrainer, LearnsFromAReplayWhatTheProcessorLearns) {
  for (ReplayCase one : {ChoiceCases()[1], SoftCases()[0]}) {
    SCOPED_TRACE(one.name);
    one.settings.trajectory_length = 8;
    one.settings.batch_steps = 32;
    one.settings.optimizer_epsilon = 1e-3;
    one.settings.replay.learning_starts = 64;
    one.settings.replay.samples_per_insert = 4;
    one.settings.replay.capacity = 128;
    const Played host = Play(one, std::make_unique<HostTrainer>(one.spec, one.settings)),
                 device = Play(one, OnDevice(one, MakeTestDevice()));
    EXPECT_GT(host.updates, 20u);
    EXPECT_EQ(host.updates, device.updates);
    EXPECT_EQ(host.version, device.version);
    for (std::size_t i = 0; i < host.parameters.size(); ++i)
      ASSERT_NEAR(host.parameters[i], device.parameters[i], 1e-3) << i;
  }
}

/// The same device, with the replay's rows there and without: the same bits.
TEST(DeviceReplayTrainer, LearnsTheSameFromRowsThatTheDeviceKeeps) {
  std::vector<ReplayCase> cases = ChoiceCases();
  for (ReplayCase& one : SoftCases()) cases.push_back(std::move(one));
  for (ReplayCase& one : cases) {
    SCOPED_TRACE(one.name);
    one.settings.trajectory_length = 8;
    one.settings.batch_steps = 32;
    one.settings.replay.learning_starts = 64;
    one.settings.replay.samples_per_insert = 4;
    one.settings.replay.capacity = 100;  // it goes round, and evicts
    one.settings.replay.priority_exponent = 0;
    ReplayCase kept = one;
    kept.settings.replay.memory = RowMemory::kDevice;
    const auto device = MakeTestDevice();
    const Played there = Play(kept, OnDevice(kept, device)),
                 here = Play(one, OnDevice(one, MakeTestDevice()));
    EXPECT_GT(there.updates, 20u);
    EXPECT_EQ(there.updates, here.updates);
    EXPECT_EQ(there.parameters, here.parameters);
    EXPECT_THAT(UnwrittenOn(*device), testing::IsEmpty());
  }
}

/// New steps have the largest priority so far. Where errors count for nothing, others are drawn.
TEST(DeviceReplayTrainer, DrawsKeptRowsByTheirErrors) {
  ReplayCase one = ChoiceCases()[0];
  ASSERT_GT(one.settings.replay.priority_exponent, 0);
  one.settings.trajectory_length = 8;
  one.settings.batch_steps = 32;
  one.settings.replay.learning_starts = 64;
  one.settings.replay.samples_per_insert = 4;
  one.settings.replay.capacity = 128;
  one.settings.replay.memory = RowMemory::kDevice;
  ReplayCase alike = one;
  alike.settings.replay.priority_exponent = 0;
  const Played played = Play(one, OnDevice(one, MakeTestDevice())),
               again = Play(one, OnDevice(one, MakeTestDevice())),
               by_chance = Play(alike, OnDevice(alike, MakeTestDevice()));
  EXPECT_GT(played.updates, 20u);
  EXPECT_EQ(played.updates, by_chance.updates);
  EXPECT_EQ(played.parameters, again.parameters);
  EXPECT_NE(played.parameters, by_chance.parameters);
  for (const float parameter : played.parameters) ASSERT_TRUE(std::isfinite(parameter));
}

}  // namespace
}  // namespace murmurate
