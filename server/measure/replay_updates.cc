#include "server/measure/replay_updates.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"
#include "shared/core/check.h"
#include "shared/core/random.h"

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

}  // namespace

/// One agent that never stops, over and over.
class ReplayUpdates::Played {
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

ReplayUpdates::ReplayUpdates(const PolicyAndValue& model, const AlgorithmSettings& settings,
                             double products)
    : flops_(2 * products),
      spec_(*settings.kind->networks(model.ToSpec(), settings)),
      learner_(spec_, settings, 1),
      layout_(spec_, settings.trajectory_length),
      store_(*learner_.MakeStore(layout_, PlainBatchMemory())),
      batch_(std::make_unique<TrainingBatch>(layout_, 1)),
      played_(std::make_unique<Played>(spec_, settings.trajectory_length)) {
  while (Make() == 0) continue;
}

ReplayUpdates::~ReplayUpdates() = default;

std::uint64_t ReplayUpdates::Make() {
  played_->Fill(batch_.get());
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

std::unique_ptr<ReplayUpdates> ReplayUpdates::OfDqn() {
  AlgorithmSettings dqn = UsualSettings("dqn");
  dqn.trajectory_length = dqn.batch_steps = 64;
  dqn.replay.minibatch = 64;
  const std::vector<Layer> layers(2, {64, Activation::kRelu});
  return std::unique_ptr<ReplayUpdates>(
      new ReplayUpdates({.spaces = {Box({4}), Discrete(2)}, .trunk = layers}, dqn, DqnProducts()));
}

std::unique_ptr<ReplayUpdates> ReplayUpdates::OfSac() {
  AlgorithmSettings sac = UsualSettings("sac");
  sac.trajectory_length = sac.batch_steps = 4;
  const std::vector<Layer> layers(2, {256, Activation::kRelu});
  return std::unique_ptr<ReplayUpdates>(new ReplayUpdates(
      {.spaces = {Box({17}), Box({6}, -1, 1)}, .trunk = layers}, sac, SacProducts()));
}

}  // namespace murmurate
