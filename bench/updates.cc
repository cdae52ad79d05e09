// Updates from a replay, nothing sent or played: what one costs, from the draw of its samples to
// the move of its targets, with its share of the insertion of new steps, against one core's peak of
// fused multiply-adds over the products counted:
//
//   dqn   4-64-64-2, minibatch 64: the policy here and there, its gradient, the target there
//   sac   17 numbers, 6 actions, 256-256, minibatch 256: twin critics and their targets, the policy
//         here and there, gradients of all and of the critics by the actions
//
// By the processor time of this thread, the shortest of many rounds.
//   build/release/bench/bench_updates [rounds]
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"
#include "server/learn/learner.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// Those that the algorithm of this name has where a config says nothing of them.
AlgorithmSettings UsualSettings(const std::string& name) {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed(name);
  ConfigEntries entries;
  for (const KeyDefault& usual : settings.kind->defaults)
    std::visit(
        [&](const auto& value) {
          entries.values[PathOf(usual.section, usual.key, "")] = {ConfigValue(value), "default"};
        },
        usual.value);
  for (const auto* keys : {&AlgorithmKeys(), &OptimizerKeys(), &ReplayKeys()})
    keys->ReadInto(keys->View(entries), &settings);
  settings.replay.capacity = 20'000;
  settings.replay.learning_starts = 1000;
  return settings;
}

/// One agent that never stops, over and over.
class Played {
 public:
  Played(const ModelSpec& spec, int length)
      : length_(length), words_(spec.spaces.action.element_count()), next_(Width(spec), 0.1f) {
    Random random(1);
    const auto steps = static_cast<std::size_t>(length);
    observation_.resize(steps * next_.size());
    for (float& number : observation_) number = static_cast<float>(random.Normal());
    choice_.resize(steps * static_cast<std::size_t>(words_));
    for (std::int32_t& word : choice_) word = static_cast<std::int32_t>(random.UniformInt(2));
    reward_.assign(steps, 1.0f);
    flags_.assign(steps, 0);
  }
  void Fill(TrainingBatch* batch) {
    TrajectoryView view;
    view.version = 1;
    view.first_step = first_step_;
    view.steps = length_;
    view.observation = RowsOf(observation_);
    view.action = choice_;  // as numbers these are about 0
    view.log_prob = view.reward = reward_;
    view.flags = flags_;
    view.next_observation = RowsOf(next_);
    MURMURATE_CHECK(batch->Add(view), "finite observations");
    first_step_ += static_cast<std::uint64_t>(length_);
  }

 private:
  static std::size_t Width(const ModelSpec& spec) {
    return static_cast<std::size_t>(spec.spaces.observation.element_count());
  }

  const int length_, words_;
  std::vector<float> observation_, next_, reward_;
  std::vector<std::int32_t> choice_;
  std::vector<std::uint8_t> flags_;
  std::uint64_t first_step_ = 0;
};

/// A learner with its store, which makes `updates` of each batch that is inserted.
class Updates {
 public:
  Updates(const PolicyAndValue& model, const AlgorithmSettings& settings)
      : spec_(*settings.kind->networks(model.ToSpec(), settings)),
        learner_(spec_, settings, 1),
        layout_(spec_, settings.trajectory_length),
        store_(*learner_.MakeStore(layout_, PlainBatchMemory())),
        batch_(std::make_unique<TrainingBatch>(layout_, 1)),
        played_(spec_, settings.trajectory_length) {
    while (Make() == 0) continue;
  }
  /// How many were made.
  std::uint64_t Make() {
    played_.Fill(batch_.get());
    store_->Insert(std::move(batch_));
    std::uint64_t updates = 0;
    while (TrainingBatch* given = store_->Next()) {
      const LearnReport report = learner_.Learn(*given, 0);
      store_->Learned({!report.left_out, report.trained_steps, learner_.row_answers()});
      updates += report.updates;
    }
    batch_ = store_->Release();
    return updates;
  }

 private:
  const ModelSpec spec_;
  Learner learner_;
  const TrajectoryLayout layout_;
  const std::unique_ptr<ExperienceStore> store_;
  std::unique_ptr<TrainingBatch> batch_;
  Played played_;
};

/// Multiply-adds of a row: forward, and by the inputs of all layers but `first`.
struct Products {
  double forward, first;

  static Products Of(double inputs, double units, double outputs) {
    return {.forward = inputs * units + units * units + units * outputs, .first = inputs * units};
  }
  double weights() const { return forward; }
  double inputs() const { return forward - first; }
  double backward() const { return weights() + inputs(); }
};

double DqnProducts() {
  const Products q = Products::Of(4, 64, 2);
  return 64 * (3 * q.forward + q.backward());
}

double SacProducts() {
  const Products policy = Products::Of(17, 256, 12), critic = Products::Of(23, 256, 1);
  const double by_actions = critic.inputs() + 6 * 256;
  return 256 * (2 * policy.forward + policy.backward() +
                2 * (3 * critic.forward + critic.backward() + by_actions));
}

void Measure(const std::string& name, Updates& updates, double products, int rounds,
             double target_us) {
  const double made = static_cast<double>(updates.Make());
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { (void)updates.Make(); }, rounds) / made);
  }
  const double flops = 2 * products;
  const std::string of = name + ", " + FormatNumber("%.1f", flops * 1e-6) + " M operations";
  Print({.name = of + ", one update",
         .unit = "us",
         .ours = seconds * 1e6,
         .target = target_us,
         .target_is_ratio = false,
         .smaller_is_better = true});
  Print({.name = of,
         .unit = "GFLOP/s",
         .ours = flops / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = target_us > 0 ? 0 : 0.7});
}

void Run(int rounds) {
  AlgorithmSettings dqn = UsualSettings("dqn");
  dqn.trajectory_length = dqn.batch_steps = 64;
  dqn.replay.minibatch = 64;
  const std::vector<Layer> small(2, {64, Activation::kRelu});
  Updates of_dqn({.spaces = {Box({4}), Discrete(2)}, .trunk = small}, dqn);
  Measure("dqn 4-64-64-2, minibatch 64", of_dqn, DqnProducts(), rounds, 45);

  AlgorithmSettings sac = UsualSettings("sac");
  sac.trajectory_length = sac.batch_steps = 4;
  const std::vector<Layer> large(2, {256, Activation::kRelu});
  Updates of_sac({.spaces = {Box({17}), Box({6}, -1, 1)}, .trunk = large}, sac);
  Measure("sac 17-256-256, 6 numbers, minibatch 256", of_sac, SacProducts(), rounds, 0);
}

}  // namespace
}  // namespace murmurate

int main(int count, char** arguments) { murmurate::Run(count > 1 ? std::atoi(arguments[1]) : 40); }
