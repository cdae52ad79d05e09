// A job of one rank on the test device, which sums over itself: what a learner alone learns. On a GPU
// the sums are NCCL's, in recorded steps (scripts/gpu-campaign.sh).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/device/device_trainer.h"
#include "server/learn/batch_planner.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/host_ranks.h"
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"
#include "tests/parameters/threads_collective.h"

namespace murmurate {
namespace {

ModelSpec Spec() {
  return PolicyAndValue{.spaces = {Box({4}), Discrete(3)},
                        .trunk = {{32, Activation::kTanh}},
                        .normalize_observation = true};
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.trajectory_length = 8;
  settings.batch_steps = 64;
  settings.minibatch = 16;
  settings.epochs = 2;
  settings.max_grad_norm = 0.5;
  return settings;
}

/// The parameters after four batches of eight updates.
std::vector<float> Learn(BatchTrainer& trainer) {
  std::vector<float> parameters(ParameterLayout(Spec()).total);
  InitializeParameters(Spec(), 3, parameters);
  trainer.SetParameters(parameters);
  BatchPlanner planner(Spec(), Settings(), 5);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const TrainingBatch batch = RandomBatch(Spec(), Settings(), i);
    EXPECT_TRUE(trainer.Open(1, false));
    trainer.Begin(batch, planner.Plan(batch, Rates::Of(Settings()), 0));
    const BatchSums sums = trainer.Finish();
    EXPECT_EQ(sums.updates, 8u) << trainer.Health();
    planner.Began(sums.begun);
  }
  return {trainer.parameters().begin(), trainer.parameters().end()};
}

TEST(OneRank, LearnsWhatALearnerAloneLearnsByRecordedSums) {
  std::shared_ptr<Device> device = MakeTestDevice();
  if (auto* const host = dynamic_cast<HostDevice*>(device.get()))
    HostRanks::GiveTo(host, 0, HostRanks::Meet(1));
  ASSERT_NE(device->rank_sums(), nullptr);
  if (const Status can = device->rank_sums()->Prepare(); !can.ok()) GTEST_SKIP() << can;

  auto alone = DeviceTrainer::Make(Spec(), Settings(), MakeTestDevice());
  ASSERT_TRUE(alone.ok()) << alone.status();
  const std::vector<float> expected = Learn(**alone);

  CollectiveJob job(std::move(ThreadsCollective::Make(1)[0]));
  std::vector<std::string> log;
  auto rank = DeviceTrainer::Make(
      Spec(), Settings(), device,
      std::make_unique<CollectiveStore>(
          &job,
          CollectiveSettings{.optimizer = OptimizerOf(Settings()),
                             .max_grad_norm = Settings().max_grad_norm},
          Spec(),
          CollectiveCallbacks{
              .over = {},
              .failed = [&](const Status& why) { log.push_back(why.message()); },
              .log = [&](LogLevel, std::string_view line) { log.push_back(std::string(line)); }}));
  ASSERT_TRUE(rank.ok()) << rank.status();
  const std::vector<float> got = Learn(**rank);
  EXPECT_THAT(log, testing::ElementsAre(
                       "gradients are summed between the GPUs of 1 rank, within each step"));
  const std::size_t trained = ParameterLayout(Spec()).trained_count();
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_TRUE(
      std::ranges::equal(std::span(got).first(trained), std::span(expected).first(trained)));
  for (std::size_t i = trained; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-5 * std::max(1.0f, std::abs(expected[i]))) << i;
  rank->reset();
  EXPECT_TRUE(job.Leave().ok());
}

}  // namespace
}  // namespace murmurate
