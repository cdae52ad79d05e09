// Labels: what was done is what is right (label_loss.h). Samples with their labels (supervised:
// squared error of numbers), or actions to be cloned (bc: their likelihood). No rewards, values or
// returns; Prepare evaluates nothing.
#include "server/learn/algorithm.h"
#include "server/learn/batch_network.h"
#include "server/learn/label_sums.h"
#include "server/network/label_loss.h"

namespace murmurate {
namespace {

using namespace label_sums;

class Labels : public Algorithm {
 public:
  Labels(const ModelSpec& spec, const AlgorithmSettings& settings, LabelLoss::Numbers numbers)
      : network_(spec, settings),
        loss_(ActionLayout(spec.spaces.action, spec.continuous), numbers, network_.max_rows()) {}

  void Prepare(std::span<const float>, const TrainingBatch& batch, const BatchPlan& plan) override {
    batch_ = &batch;
    plan_ = &plan;
    sums_ = {};
    network_.Begin(batch, plan);
  }

  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override {
    network_.Forward(plan_->updates[update], parameters);
    const LabelLossSums sums =
        loss_.Evaluate(network_.Actions(parameters), network_.minibatch().weights(),
                       network_.d_outputs(), network_.d_deviations());
    Add(kLearned, sums);
    // Actors' samples are scored before they are learned from.
    const bool first = update < plan_->updates_a_pass;
    if (first && batch_->samples == TrainingBatch::Samples::kNew) Add(kScored, sums);
    network_.Backward(parameters, gradient);  // by values: 0
    return true;
  }

  void Score(std::size_t update, std::span<const float> parameters) override {
    network_.Forward(plan_->updates[update], parameters);
    Add(kScored, loss_.Evaluate(network_.Actions(parameters), network_.minibatch().weights(),
                                nullptr, nullptr));
  }

  const AlgorithmSums& sums() const override { return sums_; }
  const ParameterLayout& layout() const override { return network_.layout(); }

 private:
  void Add(std::size_t to, const LabelLossSums& more) {
    sums_[to + kWeight] += more.weight;
    sums_[to + kLoss] += more.loss;
    sums_[to + kChoices] += more.choices;
    sums_[to + kRight] += more.right;
    sums_[to + kNumbers] += more.numbers;
    sums_[to + kDistance] += more.distance;
  }

  BatchNetwork network_;
  LabelLoss loss_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  AlgorithmSums sums_{};
};

/// `name`, with what both have in common.
AlgorithmKind KindOf(const char* name) {
  AlgorithmKind kind{
      .name = name,
      .own_play = false,
      .values = false,
      .prepares = false,
      .defaults = {{"algorithm", "normalize_reward", false},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"optimizer", "learning_rate", 1e-3}},
      .metrics = {{&LearnReport::loss, kLearned + kLoss, kLearned + kWeight},
                  {&LearnReport::accuracy, kLearned + kRight, kLearned + kChoices},
                  {&LearnReport::error, kLearned + kDistance, kLearned + kNumbers},
                  {&LearnReport::eval_rows, kScored + kWeight},
                  {&LearnReport::eval_loss, kScored + kLoss, kScored + kWeight},
                  {&LearnReport::eval_accuracy, kScored + kRight, kScored + kChoices}}};
  for (const char* key :
       {"gamma", "lambda", "reward_scale", "reward_clip", "normalize_reward", "value_weight",
        "clip", "dual_clip", "entropy", "target_kl", "adaptive_kl", "staleness", "max_staleness"})
    kind.refusals.push_back(
        {.key = key,
         .expected = "no such line",
         .because = "{} learns what was done and knows no rewards, values or staleness"});
  return kind;
}

}  // namespace

const AlgorithmKind& Supervised() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind = KindOf("supervised");
    kind.leaves_unknown = true;
    kind.loss = [](const AlgorithmSettings&) {
      return LossForm{.kind = LossForm::Kind::kSquaredError};
    };
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Labels>(spec, settings, LabelLoss::Numbers::kSquaredError);
    };
    return kind;
  }();
  return kKind;
}

const AlgorithmKind& Bc() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind = KindOf("bc");
    kind.loss = [](const AlgorithmSettings&) {
      return LossForm{.kind = LossForm::Kind::kLikelihood};
    };
    kind.make = [](const ModelSpec& spec,
                   const AlgorithmSettings& settings) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Labels>(spec, settings, LabelLoss::Numbers::kLikelihood);
    };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
