#include "tests/learn/replay_training.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "client/environments/environment.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/inference/action_head.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

double ProcessorTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What plays a version.
class Player {
 public:
  explicit Player(const ModelSpec& spec)
      : layout_(spec),
        policy_(spec),
        head_(ActionLayout(spec.spaces.action, spec.continuous)),
        outputs_(static_cast<std::size_t>(head_.layout().outputs())),
        scratch_(policy_.ScratchFloats(1)),
        states_(static_cast<std::size_t>(policy_.state_floats())),
        game_(static_cast<std::size_t>(head_.layout().words())),
        action_(spec.spaces.action) {}

  void Receive(const Snapshot& snapshot) {
    const auto part = [&](const SectionRange& range) {
      return std::span<const float>(snapshot.parameters).subspan(range.offset, range.count);
    };
    policy_.Pack(part(layout_.published), part(layout_.statistics));
  }
  /// `state`: NewState() when an episode begins, then what this left of it.
  float Choose(const float* observation, std::vector<float>* state, const ActSettings& settings,
               Random& random, PinkNoise* pink, std::int32_t* words) {
    policy_.Forward(observation, 1, outputs_.data(), scratch_.data(), state->data());
    return head_.Choose({.outputs = outputs_.data()}, settings, random, words, pink);
  }
  const Action& ToGame(const std::int32_t* words) {
    head_.ToGame(words, game_.data());
    for (std::size_t i = 0; i < game_.size(); ++i) {
      if (head_.layout().one_choice())
        action_.choices()[i] = game_[i];
      else
        action_.numbers()[i] = std::bit_cast<float>(game_[i]);
    }
    return action_;
  }
  double largest_output() const { return std::ranges::max(outputs_); }
  int words() const { return head_.layout().words(); }
  std::vector<float> NewState() const { return std::vector<float>(states_, 0.0f); }

 private:
  const ParameterLayout layout_;
  Policy policy_;
  const ActionHead head_;
  std::vector<float> outputs_;
  AlignedFloats scratch_;
  const std::size_t states_;
  std::vector<std::int32_t> game_;
  Action action_;
};

std::span<const float> NumbersOf(const Environment& environment) {
  const Observation observation = environment.observation();
  const ObservationPart& part = observation.parts()[0];
  return {static_cast<const float*>(part.data()), part.count()};
}

std::unique_ptr<Environment> Make(const ReplayRun& run) {
  auto made = MakeEnvironment(run.environment, run.options);
  MURMURATE_CHECK(made.ok(), "a built-in game");
  return *std::move(made);
}

class TrainingAgent {
 public:
  TrainingAgent(std::uint32_t index, const ReplayRun& run, std::uint64_t seed)
      : index_(index),
        random_(DeriveSeed(seed, 2 * index)),
        environment_(Make(run)),
        pink_(environment_->spaces().action.element_count()) {
    environment_->Reset(DeriveSeed(seed, 2 * index + 1));
  }
  /// Plays `steps` steps and adds them to the batch.
  void Play(int steps, std::uint64_t version, const ActSettings& settings, Player* player,
            TrainingBatch* batch) {
    observations_.clear();
    finals_.clear();
    rewards_.clear();
    flags_.clear();
    log_probs_.clear();
    actions_.resize(static_cast<std::size_t>(steps * player->words()));
    if (steps_ == 0) state_ = player->NewState();
    const std::vector<float> state0 = state_;
    for (int step = 0; step < steps; ++step) Step(settings, player, step * player->words());
    const std::span<const float> next = NumbersOf(*environment_);
    TrajectoryView view;
    view.agent = index_;
    view.steps = steps;
    view.first_step = steps_ - static_cast<std::uint64_t>(steps);
    view.version = version;
    view.observation = RowsOf(observations_);
    view.action = actions_;
    view.log_prob = log_probs_;
    view.reward = rewards_;
    view.flags = flags_;
    view.final_observation = RowsOf(finals_);
    view.next_observation = RowsOf(next);
    view.state0 = state0;
    MURMURATE_CHECK(batch->Add(view), "finite observations");
  }

 private:
  void Step(const ActSettings& settings, Player* player, int at) {
    const std::span<const float> now = NumbersOf(*environment_);
    observations_.insert(observations_.end(), now.begin(), now.end());
    log_probs_.push_back(
        player->Choose(now.data(), &state_, settings, random_, &pink_, &actions_[at]));
    const StepOutcome outcome = environment_->Step(player->ToGame(&actions_[at]));
    rewards_.push_back(static_cast<float>(outcome.reward));
    flags_.push_back((first_ ? kFirst : 0) | (outcome.terminated ? kTerminatedFlag : 0) |
                     (outcome.truncated ? kTruncatedFlag : 0));
    ++steps_;
    first_ = outcome.terminated || outcome.truncated;
    if (!first_) return;
    state_ = player->NewState();
    pink_.Restart();
    const std::span<const float> last = NumbersOf(*environment_);
    if (outcome.truncated) finals_.insert(finals_.end(), last.begin(), last.end());
    environment_->Reset();
  }

  const std::uint32_t index_;
  Random random_;
  std::unique_ptr<Environment> environment_;
  PinkNoise pink_;
  bool first_ = true;
  std::uint64_t steps_ = 0;
  std::vector<float> state_;
  std::vector<float> observations_, finals_, log_probs_, rewards_;
  std::vector<std::int32_t> actions_;
  std::vector<std::uint8_t> flags_;
};

void Evaluate(const ReplayRun& run, const ModelSpec& spec, const Snapshot& snapshot,
              ReplayScore* score) {
  Player player(spec);
  player.Receive(snapshot);
  const auto environment = Make(run);
  std::vector<std::int32_t> words(static_cast<std::size_t>(player.words()));
  Random random(1);
  double sum = 0.0;
  for (int episode = 0; episode < run.evaluation_episodes; ++episode) {
    environment->Reset(DeriveSeed(0xe7a1, static_cast<std::uint64_t>(episode)));
    std::vector<float> state = player.NewState();
    for (bool ended = false; !ended;) {
      player.Choose(NumbersOf(*environment).data(), &state, {.mode = ActSettings::Mode::kGreedy},
                    random, nullptr, words.data());
      const StepOutcome outcome = environment->Step(player.ToGame(words.data()));
      sum += outcome.reward;
      ended = outcome.terminated || outcome.truncated;
    }
  }
  score->mean_return = sum / run.evaluation_episodes;
  score->last_output = player.largest_output();
}

}  // namespace

AlgorithmSettings UsualSettings(const std::string& name, int agents, int length) {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed(name);
  settings.normalize_reward = true;
  ConfigEntries entries;
  for (const KeyDefault& usual : settings.kind->defaults)
    std::visit(
        [&](const auto& value) {
          entries.values[PathOf(usual.section, usual.key, "")] = {ConfigValue(value), "default"};
        },
        usual.value);
  for (const auto* keys : {&AlgorithmKeys(), &OptimizerKeys(), &ReplayKeys()})
    keys->ReadInto(keys->View(entries), &settings);
  settings.trajectory_length = length;
  settings.batch_steps = length * agents;
  return settings;
}

std::vector<ReplayScore> TrainFromReplay(const ReplayRun& run, std::uint64_t seed) {
  const auto spaces = Make(run)->spaces();
  auto networks = run.algorithm.kind->networks(
      PolicyAndValue{
          .spaces = spaces, .trunk = run.trunk, .normalize_observation = run.normalize_observation}
          .ToSpec(),
      run.algorithm);
  MURMURATE_CHECK(networks.ok(), networks.status().message().c_str());
  const ModelSpec spec = *std::move(networks);
  Learner learner(spec, run.algorithm, DeriveSeed(seed, 0));
  const TrajectoryLayout layout(spec, run.algorithm.trajectory_length);
  const auto store = *learner.MakeStore(layout, PlainBatchMemory());
  auto batch = std::make_unique<TrainingBatch>(layout, run.agents);
  std::vector<TrainingAgent> agents;
  for (int i = 0; i < run.agents; ++i)
    agents.emplace_back(static_cast<std::uint32_t>(i), run, DeriveSeed(seed, 1));
  Player player(spec);
  std::vector<ReplayScore> scores;
  ReplayScore now;
  while (now.steps < run.steps) {
    const auto snapshot = learner.MakeSnapshot();
    player.Receive(*snapshot);
    for (TrainingAgent& agent : agents)
      agent.Play(run.algorithm.trajectory_length, snapshot->version, snapshot->act, &player,
                 batch.get());
    now.steps += static_cast<std::uint64_t>(batch->rows());
    const double begin = ProcessorTime();
    store->Insert(std::move(batch));
    while (TrainingBatch* given = store->Next()) {
      const LearnReport report = learner.Learn(*given, now.steps);
      store->Learned({!report.left_out, report.trained_steps, learner.row_answers()});
      now.updates += report.updates;
      if (report.updates > 0) now.last = report;
    }
    batch = store->Release();
    now.learn_seconds += ProcessorTime() - begin;
    if (now.steps % run.evaluate_every >= static_cast<std::uint64_t>(batch->rows())) continue;
    Evaluate(run, spec, *learner.MakeSnapshot(), &now);
    scores.push_back(now);
  }
  return scores;
}

}  // namespace murmurate
