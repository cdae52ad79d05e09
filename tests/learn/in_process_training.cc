#include "tests/learn/in_process_training.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "server/learn/algorithms.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr int kWidth = 4;  // CartPole's observation
constexpr int kWindow = 100;

Spaces CartPoleSpaces() { return {Box({kWidth}), Discrete(2)}; }

/// Processor time of this thread: what others do on the machine does not count.
double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Mean return of the last 100 training episodes.
class RolloutMean {
 public:
  void Add(std::span<const EpisodeRecord> episodes) {
    for (const EpisodeRecord& episode : episodes) returns_.push_back(episode.raw_return);
    while (returns_.size() > kWindow) returns_.pop_front();
  }
  bool Reached(double level) const {
    return returns_.size() == kWindow &&
           std::accumulate(returns_.begin(), returns_.end(), 0.0) >= level * kWindow;
  }

 private:
  std::deque<double> returns_;
};

std::span<const float> Part(const Snapshot& snapshot, const SectionRange& range) {
  return std::span<const float>(snapshot.parameters).subspan(range.offset, range.count);
}

}  // namespace

LaggedAgent::LaggedAgent(std::uint32_t index, const InProcessSettings& settings, std::uint64_t seed)
    : index_(index),
      reward_times_(settings.reward_times),
      random_(DeriveSeed(seed, 2 * index)),
      environment_(std::make_unique<CartPole>()) {
  observations_.reserve(static_cast<std::size_t>(settings.algorithm.trajectory_length) * kWidth);
  environment_->Reset(DeriveSeed(seed, 2 * index + 1));
}

void LaggedAgent::Clear() {
  for (auto* column : {&observations_, &finals_, &log_probs_, &rewards_}) column->clear();
  actions_.clear();
  flags_.clear();
  episodes_.clear();
  taken_ = false;
}

void LaggedAgent::Step(std::span<const float> logits) {
  if (taken_) Clear();
  const ActionChoice choice = ChooseAction(logits, ActSettings{}, random_);
  const auto before = environment_->numbers();
  observations_.insert(observations_.end(), before.begin(), before.end());
  const StepOutcome outcome = environment_->Push(choice.action);
  actions_.push_back(choice.action);
  log_probs_.push_back(choice.log_prob);
  rewards_.push_back(static_cast<float>(outcome.reward * reward_times_));
  flags_.push_back((first_ ? kFirst : 0) | (outcome.terminated ? kTerminatedFlag : 0) |
                   (outcome.truncated ? kTruncatedFlag : 0));
  episode_.raw_return += outcome.reward;
  ++episode_.length;
  ++steps_;
  first_ = outcome.terminated || outcome.truncated;
  if (!first_) return;
  const auto final = environment_->numbers();
  if (outcome.truncated) finals_.insert(finals_.end(), final.begin(), final.end());
  episodes_.push_back(episode_);
  episode_ = {};
  environment_->Reset();
}

TrajectoryView LaggedAgent::Collect(std::uint64_t version) {
  taken_ = true;
  TrajectoryView view;
  view.agent = index_;
  view.steps = static_cast<int>(actions_.size());
  view.first_step = steps_ - actions_.size();
  view.version = version;
  view.observation = RowsOf(observations_);
  view.action = actions_;
  view.log_prob = log_probs_;
  view.reward = rewards_;
  view.flags = flags_;
  view.final_observation = RowsOf(finals_);
  view.next_observation = RowsOf(environment_->numbers());
  view.episodes = episodes_;
  return view;
}

LaggedActors::LaggedActors(const ModelSpec& spec, const InProcessSettings& settings,
                           std::uint64_t seed)
    : layout_(spec),
      spec_(spec),
      length_(settings.algorithm.trajectory_length),
      lag_(settings.lag),
      observations_(static_cast<std::size_t>(settings.agents) * kWidth),
      logits_(static_cast<std::size_t>(settings.agents) * 2) {
  for (int i = 0; i < settings.agents; ++i) agents_.emplace_back(i, settings, seed);
}

void LaggedActors::Receive(const Snapshot& snapshot) {
  Policy policy(spec_);
  policy.Pack(Part(snapshot, layout_.published), Part(snapshot, layout_.statistics));
  if (scratch_.size() == 0) {
    scratch_ = AlignedFloats(policy.ScratchFloats(static_cast<int>(agents_.size())));
  }
  versions_.push_back({snapshot.version, std::move(policy)});
  while (static_cast<int>(versions_.size()) > lag_ + 1) versions_.pop_front();
}

void LaggedActors::Play(TrainingBatch* batch) {
  const Version& version = versions_.front();
  const int count = static_cast<int>(agents_.size());
  for (int step = 0; step < length_; ++step) {
    for (int i = 0; i < count; ++i) {
      const auto observation = agents_[i].observation();
      std::copy(observation.begin(), observation.end(), observations_.begin() + i * kWidth);
    }
    version.policy.Forward(observations_.data(), count, logits_.data(), scratch_.data());
    for (int i = 0; i < count; ++i) agents_[i].Step(std::span(logits_).subspan(2 * i, 2));
  }
  for (LaggedAgent& agent : agents_) batch->Add(agent.Collect(version.number));
}

TrainingOutcome TrainInProcess(const InProcessSettings& settings, std::uint64_t seed) {
  TrainingOutcome outcome;
  outcome.spec = PolicyAndValue{.spaces = CartPoleSpaces(),
                                .trunk = settings.trunk,
                                .separate_value = settings.separate_value,
                                .normalize_observation = settings.normalize_observation};
  Learner learner(outcome.spec, settings.algorithm, DeriveSeed(seed, 0));
  LaggedActors actors(outcome.spec, settings, DeriveSeed(seed, 1));
  TrainingBatch batch(TrajectoryLayout(outcome.spec.spaces, settings.algorithm.trajectory_length),
                      settings.agents);
  RolloutMean rollout;
  while (!outcome.solved && outcome.steps < settings.max_steps) {
    const double start = Now();
    actors.Receive(*learner.MakeSnapshot());
    batch.Clear();
    actors.Play(&batch);
    const double played = Now();
    outcome.steps += static_cast<std::uint64_t>(batch.rows());
    outcome.last = learner.Learn(batch, outcome.steps);
    rollout.Add(outcome.last.episodes);
    outcome.play_seconds += played - start;
    outcome.learn_seconds += Now() - played;
    outcome.solved = rollout.Reached(settings.stop_at_return);
  }
  outcome.snapshot = learner.MakeSnapshot();
  return outcome;
}

double EvaluateGreedy(const TrainingOutcome& outcome, int episodes, std::uint64_t seed) {
  const ParameterLayout layout(outcome.spec);
  Policy policy(outcome.spec);
  policy.Pack(Part(*outcome.snapshot, layout.published),
              Part(*outcome.snapshot, layout.statistics));
  AlignedFloats scratch(policy.ScratchFloats(1));
  Random random(seed);
  double sum = 0.0;
  CartPole environment;
  for (int episode = 0; episode < episodes; ++episode) {
    environment.Reset(DeriveSeed(seed, episode));
    for (bool ended = false; !ended;) {
      std::array<float, 2> logits;
      policy.Forward(environment.numbers().data(), 1, logits.data(), scratch.data());
      const ActSettings greedy{.mode = ActSettings::Mode::kGreedy};
      const StepOutcome step = environment.Push(ChooseAction(logits, greedy, random).action);
      sum += step.reward;
      ended = step.terminated || step.truncated;
    }
  }
  return sum / episodes;
}

InProcessSettings CartPoleSettings() {
  InProcessSettings settings;
  settings.algorithm.trajectory_length = 64;
  settings.algorithm.batch_steps = 512;
  settings.algorithm.minibatch = 64;
  settings.algorithm.epochs = 4;
  settings.algorithm.learning_rate.from = 2e-3;
  settings.algorithm.learning_rate.to = 2e-4;
  settings.algorithm.learning_rate.steps = 100'000;
  return settings;
}

InProcessSettings CartPoleImpalaSettings() {
  InProcessSettings settings;
  AlgorithmSettings& impala = settings.algorithm;
  impala.kind = AlgorithmNamed("impala");
  impala.trajectory_length = 32;
  impala.batch_steps = impala.minibatch = 256;
  impala.epochs = 1;
  impala.normalize_advantage = false;
  impala.entropy = 0.01;
  impala.learning_rate.from = 1e-3;
  impala.learning_rate.to = 1e-4;
  impala.learning_rate.steps = 1'000'000;
  settings.max_steps = 1'000'000;
  return settings;
}

InProcessSettings CartPoleA2cSettings() {
  InProcessSettings settings = CartPoleImpalaSettings();
  AlgorithmSettings& a2c = settings.algorithm;
  a2c.kind = AlgorithmNamed("a2c");
  a2c.staleness = StalenessPolicy::kBlock;
  a2c.max_staleness = 0;
  a2c.trajectory_length = 16;
  a2c.batch_steps = a2c.minibatch = 128;
  a2c.entropy = 0.003;
  settings.max_steps = 500'000;
  return settings;
}

}  // namespace murmurate
