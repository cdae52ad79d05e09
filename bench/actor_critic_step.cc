#include "bench/actor_critic_step.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "server/compute/vector_math.h"
#include "server/network/policy_loss.h"
#include "shared/core/random.h"
#include "shared/model/network_plan.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// As text, without the first line.
ModelSpec FromText(const std::string& text) {
  return *ModelSpec::Parse("murmurate-model 1\n" + text);
}

}  // namespace

ActorCriticStep::ActorCriticStep(const ModelSpec& spec, int rows, int threads)
    : network_(spec, rows, threads), head_(ActionLayout(spec.spaces.action)), rows_(rows) {
  const int actions = spec.spaces.action.n;
  const std::size_t trained = network_.layout().trained_count();
  parameters_ = AlignedFloats(network_.layout().total);
  gradient_ = AlignedFloats(trained);
  first_ = AlignedFloats(trained);
  second_ = AlignedFloats(trained);
  InitializeParameters(spec, 1, parameters_);
  Random random(2);
  const auto normal = [&] { return static_cast<float>(random.Normal()); };
  const ObservationLayout row(StackedObservation(spec));
  observations_.resize(rows * row.row_bytes() / 4);
  std::ranges::generate(observations_, [&] {  // bytes, or the bits of a number
    return row.plain() ? std::bit_cast<std::uint32_t>(normal())
                       : static_cast<std::uint32_t>(random.Next());
  });
  sequences_ = {.steps = std::min(rows, 32), .count = rows / std::min(rows, 32)};
  for (int i = 0; i < rows; ++i) {
    action_.push_back(static_cast<int>(random.UniformInt(actions)));
    advantage_.push_back(normal());
    target_.push_back(normal());
  }
  weight_.assign(rows, 1.0f);
  log_prob_.assign(rows, -std::log(static_cast<float>(actions)));
  logits_.resize(static_cast<std::size_t>(rows) * actions);
  d_logits_ = logits_;
  values_.resize(rows);
  for (auto* column : {&entropy_, &d_values_, &new_log_prob_, &d_log_prob_, &d_entropy_})
    column->resize(rows);
}

void ActorCriticStep::Run() {
  network_.Forward(parameters_, observations_.data(), rows_, logits_.data(), values_.data(),
                   &sequences_);
  const ActionRows actions{rows_, logits_.data(), nullptr, action_.data(), nullptr};
  head_.Evaluate(actions, new_log_prob_.data(), entropy_.data());
  ClippedPolicyLoss({.entropy = 0.01f},
                    {rows_, new_log_prob_.data(), entropy_.data(), values_.data(), log_prob_.data(),
                     advantage_.data(), target_.data(), weight_.data()},
                    d_log_prob_.data(), d_entropy_.data(), d_values_.data());
  head_.Gradient(actions, d_log_prob_.data(), d_entropy_.data(), d_logits_.data(), nullptr);
  network_.Backward(parameters_, d_logits_.data(), d_values_.data(), gradient_);
  const float scale = std::min(1.0f, 0.5f / (Norm(gradient_) + 1e-6f));
  AdamStep({.learning_rate = 1e-6f}, ++t_, scale, gradient_, first_, second_,
           std::span<float>(parameters_).first(gradient_.size()));
}

PolicyAndValue DenseModel(int observations, int units, int actions) {
  PolicyAndValue spec;
  spec.spaces = {Box({observations}), Discrete(actions)};
  spec.trunk = {{units, Activation::kTanh}, {units, Activation::kTanh}};
  return spec;
}

ModelSpec NatureCnnModel() {
  return FromText(
      "observation uint8 84 84 4\naction discrete 6\ninput - stack 1\nconv 32 8 4 0 relu\n"
      "conv 64 4 2 0 relu\nconv 64 3 1 0 relu\nflatten\ntrunk\ndense 512 relu\n"
      "separate_value 0\nnormalize_observation 0\n");
}

ModelSpec LstmModel() {
  return FromText(
      "observation float32 17\naction discrete 6\ndense 64 tanh\nlstm 128\nseparate_value 0\n"
      "normalize_observation 0\n");
}

}  // namespace murmurate
