// A privileged observation from an agent's Act to what is learned: agents of the client play in this
// thread, and a Learner trains on the blocks that they record.
#include <gtest/gtest.h>

#include "server/learn/learner.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

constexpr int kAgents = 16, kLength = 32, kRows = kAgents * kLength;

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.trajectory_length = kLength;
  settings.batch_steps = kRows;
  settings.minibatch = kRows / 4;
  settings.epochs = 4;
  settings.learning_rate = 1e-2;
  return settings;
}

/// An episode of four steps; each pays what was tossed at its beginning, 1 or -1, whatever is done.
/// The agent is shown nothing of it, the learner the coin if there is a privileged observation.
class CoinGame {
 public:
  explicit CoinGame(std::uint64_t seed) : random_(seed) {}

  void Step(BenchAgent& agent, bool shows) {
    if (step_ == 0) coin_ = random_.UniformInt(2) == 0 ? -1.0f : 1.0f;
    const float seen[] = {1, static_cast<float>(step_)};
    if (shows)
      EXPECT_TRUE(agent.observation().TryObservePrivileged(std::span<const float>(&coin_, 1)));
    agent.Act(seen);
    agent.Reward(coin_);
    if (++step_ < 4) return;
    step_ = 0;
    agent.End(kTerminated);
  }

 private:
  Random random_;
  int step_ = 0;
  float coin_ = 1;
};

/// The reports of `batches` batches, each played under the version that the last one left.
std::vector<LearnReport> Trained(bool shows, const std::vector<Layer>& trunk, int batches) {
  PolicyAndValue model{.spaces = {Box({2}), Discrete(2)}, .trunk = trunk};
  model.normalize_observation = true;
  model.separate_value = shows;
  if (shows) model.spaces.privileged = Box({1});
  model.value_trunk = {*Layer::Parse("dense 16 tanh")};
  const ModelSpec spec = model;
  Learner learner(spec, Settings(), 1);
  Workbench bench(0, {}, spec);
  TrainingBatch batch(TrajectoryLayout(spec, kLength), kAgents);
  std::vector<std::shared_ptr<BenchAgent>> agents;
  std::vector<std::shared_ptr<TrajectoryRing>> rings;
  std::vector<CoinGame> games;
  for (int i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_shared<BenchAgent>(bench.model, i, 0, 1));
    auto buffers = BuffersOf(bench.policies, 1, kLength);
    rings.push_back(buffers->ring);
    agents.back()->shared().Fit(std::move(buffers));
    games.emplace_back(DeriveSeed(3, i));
  }
  std::vector<LearnReport> reports;
  for (int i = 0; i < batches; ++i) {
    const auto snapshot = learner.MakeSnapshot();
    const ParameterLayout& layout = learner.layout();
    const std::span<const float> flat = snapshot->parameters;
    bench.policies->Publish({7, snapshot->version}, {},
                            flat.subspan(layout.published.offset, layout.published.count),
                            flat.subspan(layout.statistics.offset, layout.statistics.count));
    batch.Clear();
    for (int agent = 0; agent < kAgents; ++agent) {
      for (int step = 0; step < kLength; ++step) games[agent].Step(*agents[agent], shows);
      bench.ring = rings[agent];
      auto received = bench.PopTrajectory();
      received.view.agent = static_cast<std::uint32_t>(agent);
      EXPECT_TRUE(batch.Add(received.view));
      bench.ring->Release(received.block);
    }
    reports.push_back(learner.Learn(batch, static_cast<std::uint64_t>(i + 1) * kRows));
  }
  return reports;
}

TEST(PrivilegedLearned, TheValueKnowsWhatOnlyItIsShown) {
  for (const char* layer : {"dense 16 tanh", "lstm 16"}) {
    const std::vector<Layer> trunk{*Layer::Parse(layer)};
    EXPECT_GT(Trained(true, trunk, 40).back().explained_variance, 0.95) << layer;
  }
  const std::vector<LearnReport> blind = Trained(false, {*Layer::Parse("dense 16 tanh")}, 40);
  EXPECT_LT(blind.back().explained_variance, 0.2)
      << "a network without memory cannot know the coin";
}

TEST(PrivilegedLearned, TheLearnersPolicyIsThatWhichPlayed) {
  for (const char* layer : {"dense 16 tanh", "layer_norm", "lstm 16"})
    for (const LearnReport& report : Trained(true, {*Layer::Parse(layer)}, 4))
      EXPECT_LT(report.lag_kl, 1e-7) << layer;
}

}  // namespace
}  // namespace murmurate
