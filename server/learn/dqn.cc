// DQN (Mnih et al. 2015): a network that gives the value of each choice, learned from a replay by
//   y = sum_{i<k} gamma^i r_{t+i} + gamma^k Q_target(s_{t+k}, best action there)
// with k <= n_step (window_return.h). With double_q the best action is the policy's choice (van
// Hasselt et al. 2016, arXiv 1509.06461), without it the target's. Masks hold wherever a maximum is
// taken. The loss is Huber's with delta 1 on Q - y, the mean over a minibatch's windows, each times
// its weight, and over the variables of an action (choice_values.h).
//
// The network is the policy itself: agents play its best choice, and with probability epsilon any.
#include <algorithm>
#include <cmath>
#include <string>

#include "server/learn/algorithm.h"
#include "server/learn/choice_values.h"
#include "server/learn/minibatch.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/replay_planner.h"
#include "server/learn/window_return.h"
#include "server/network/single_network.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr std::string_view kTargetNetwork = "target";

enum Place : std::size_t { kRows, kLoss, kValue, kDistance };

class Dqn : public Algorithm {
 public:
  Dqn(const ModelSpec& spec, const AlgorithmSettings& settings)
      : most_rows_(settings.replay.minibatch),
        n_step_(settings.n_step),
        gamma_(settings.gamma),
        double_q_(settings.double_q),
        prioritizes_(settings.replay.priority_exponent > 0.0),
        layout_(spec),
        choices_(ActionLayout(spec.spaces.action, spec.continuous)),
        policy_(spec, layout_, kPolicyNetwork, most_rows_),
        target_(spec, layout_, kTargetNetwork, most_rows_),
        here_(spec, most_rows_),
        there_(spec, most_rows_) {
    const std::size_t rows = static_cast<std::size_t>(most_rows_);
    for (AlignedFloats* block : {&q_, &next_, &next_target_, &d_q_})
      *block = AlignedFloats(rows * outputs());
    for (AlignedFloats* column : {&target_value_, &discount_}) *column = AlignedFloats(rows);
    seen_.reserve(rows);
    ends_.reserve(rows);
  }

  void Prepare(std::span<const float> parameters, const TrainingBatch& batch,
               const BatchPlan& plan) override;
  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override;
  void Score(std::size_t, std::span<const float>) override {
    MURMURATE_CHECK(false, "only labels are held out");
  }
  const AlgorithmSums& sums() const override { return sums_; }
  /// The distance of each row's value from its target.
  std::span<const float> row_answers() const override { return answers_; }
  const ParameterLayout& layout() const override { return layout_; }

 private:
  std::size_t outputs() const { return static_cast<std::size_t>(policy_.outputs()); }
  void SeeRows(std::span<const std::int32_t> rows, std::span<const float> parameters);
  void FindTargets(std::span<const std::int32_t> rows, std::span<const float> parameters);
  void LearnRow(std::size_t i, float weight);
  float ErrorOf(std::size_t i, int variable) const;
  double Distance(std::size_t i) const;

  const int most_rows_, n_step_;
  const double gamma_;
  const bool double_q_, prioritizes_;
  const ParameterLayout layout_;
  const ChoiceValues choices_;
  SingleNetwork policy_, target_;
  Minibatch here_, there_;                      ///< rows, and where their returns end
  std::vector<SeenRow> seen_, ends_;            ///< the same
  AlignedFloats q_, next_, next_target_, d_q_;  ///< [rows][outputs]
  AlignedFloats target_value_, discount_;       ///< [rows]
  std::vector<float> answers_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  AlgorithmSums sums_{};
};

void Dqn::Prepare(std::span<const float> parameters, const TrainingBatch& batch,
                  const BatchPlan& plan) {
  batch_ = &batch;
  plan_ = &plan;
  sums_ = {};
  answers_.clear();
  if (!prioritizes_ || !plan.updates.empty()) return;
  std::span<const std::int32_t> rows(plan.rows);
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(most_rows_));
    SeeRows(rows.first(count), parameters);
    for (std::size_t i = 0; i < count; ++i) answers_.push_back(static_cast<float>(Distance(i)));
    rows = rows.subspan(count);
  }
}

/// Leaves the values of rows of the batch, kept for Backward, and their targets.
void Dqn::SeeRows(std::span<const std::int32_t> rows, std::span<const float> parameters) {
  FindTargets(rows, parameters);
  seen_.clear();
  for (const std::int32_t row : rows) seen_.push_back({.row = row});
  here_.Gather(*batch_, seen_, rows.front());
  policy_.Forward(parameters, here_.observations(), here_.rows(), q_.data());
}

void Dqn::FindTargets(std::span<const std::int32_t> rows, std::span<const float> parameters) {
  ends_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const WindowReturn found = ReturnOf(*batch_, rows[i], n_step_, gamma_);
    ends_.push_back(found.end);
    target_value_[i] = static_cast<float>(found.reward);
    discount_[i] = found.discount;
  }
  there_.Gather(*batch_, ends_, rows.front());
  target_.Forward(parameters, there_.observations(), there_.rows(), next_target_.data());
  if (double_q_) policy_.Forward(parameters, there_.observations(), there_.rows(), next_.data());
  const AlignedFloats& by = double_q_ ? next_ : next_target_;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (discount_[i] == 0.0f) continue;
    const bool has_mask = batch_->masked && ends_[i].successor == nullptr;
    const std::uint8_t* const mask =
        has_mask ? &batch_->mask[static_cast<std::size_t>(ends_[i].row) * outputs()] : nullptr;
    const std::size_t at = i * outputs();
    target_value_[i] += discount_[i] * static_cast<float>(choices_.ValueOfBest(
                                           by.data() + at, next_target_.data() + at, mask));
  }
}

/// Of the value that a variable's choice has in the i-th row seen, from the row's target.
float Dqn::ErrorOf(std::size_t i, int variable) const {
  const std::size_t output = choices_.OutputOf(variable, here_.Action(i));
  return q_[i * outputs() + output] - target_value_[i];
}

double Dqn::Distance(std::size_t i) const {
  double sum = 0.0;
  for (int variable = 0; variable < choices_.variables(); ++variable)
    sum += std::abs(double{ErrorOf(i, variable)});
  return sum / choices_.variables();
}

/// Its gradient: Huber's is the error cut to +- 1.
void Dqn::LearnRow(std::size_t i, float weight) {
  const float part = weight / static_cast<float>(choices_.variables());
  for (int variable = 0; variable < choices_.variables(); ++variable) {
    const float error = ErrorOf(i, variable), size = std::abs(error);
    d_q_[i * outputs() + choices_.OutputOf(variable, here_.Action(i))] =
        part * std::clamp(error, -1.0f, 1.0f);
    sums_[kLoss] += double{here_.weights()[i]} *
                    (size <= 1.0f ? 0.5 * double{size} * size : double{size} - 0.5) /
                    choices_.variables();
    sums_[kValue] += (double{error} + target_value_[i]) / choices_.variables();
  }
  const double distance = Distance(i);
  answers_.push_back(static_cast<float>(distance));
  sums_[kDistance] += distance;
  ++sums_[kRows];
}

bool Dqn::Gradient(std::size_t update, std::span<const float> parameters,
                   std::span<float> gradient) {
  const PlannedUpdate& planned = plan_->updates[update];
  const auto rows = std::span(plan_->order).subspan(planned.first, planned.count);
  SeeRows(rows, parameters);
  std::fill_n(d_q_.begin(), rows.size() * outputs(), 0.0f);
  for (std::size_t i = 0; i < rows.size(); ++i)
    LearnRow(i, here_.weights()[i] / static_cast<float>(rows.size()));
  std::ranges::fill(gradient, 0.0f);
  policy_.Backward(parameters, d_q_.data(), gradient);
  return true;
}

Result<ModelSpec> NetworksOf(ModelSpec spec) {
  if (!ChoiceValues::HasChoicesOnly(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument(
        "dqn learns a value for each choice, and these actions have numbers or switches in them: "
        "name another algorithm, or give the game discrete actions");
  if (spec.recurrent())
    return InvalidArgument(
        "dqn learns from single steps, and this model remembers: take the recurrent layer out, or "
        "name another algorithm");
  NetworkSpec policy = spec.networks.front();
  spec.networks = {policy, {.name = std::string(kTargetNetwork), .follows = policy.name}};
  return spec;
}

}  // namespace

const AlgorithmKind& DqnKind() {
  static const AlgorithmKind kKind{
      .name = "dqn",
      .replays = true,
      .values = false,
      .prepares = false,
      .defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                   {"algorithm", "batch_steps", std::int64_t{256}},
                   {"algorithm", "epochs", std::int64_t{1}},
                   {"algorithm", "max_grad_norm", 10.0},
                   {"optimizer", "learning_rate", 1e-3}},
      .refusals = ReplayRefusals({"policy_every", "initial_temperature", "target_entropy", "noise",
                                  "noise_color", "target_noise", "target_noise_clip"}),
      .metrics = {{&LearnReport::value_loss, kLoss, kRows},
                  {&kQValue, kValue, kRows},
                  {&kTdError, kDistance, kRows}},
      .networks = NetworksOf,
      .act =
          [](const AlgorithmSettings& settings, std::uint64_t learned_steps) {
            return ActSettings{
                .mode = ActSettings::Mode::kEpsilon,
                .epsilon = static_cast<float>(settings.policy.epsilon.At(learned_steps))};
          },
      .make = [](const ModelSpec& spec, const AlgorithmSettings& settings)
          -> std::unique_ptr<Algorithm> { return std::make_unique<Dqn>(spec, settings); },
      .make_planner = [](const ModelSpec&, const AlgorithmSettings& settings, std::uint64_t)
          -> std::unique_ptr<Planner> { return std::make_unique<ReplayPlanner>(settings); },
      .loss = [](const AlgorithmSettings&) { return LossForm{LossForm::Kind::kChoiceValues}; },
      .make_store = MakeWindowStore};
  return kKind;
}

}  // namespace murmurate
