// One training step (forward, PPO loss, backward, clip, Adam) of a dense actor-critic on one core,
// against that core's peak of fused multiply-adds.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "shared/compute/losses.h"
#include "shared/compute/vector_math.h"
#include "shared/core/aligned_floats.h"
#include "shared/network/actor_critic.h"

namespace murmurate {
namespace {

class TrainingStep {
 public:
  TrainingStep(const ModelSpec& spec, int rows)
      : network_(spec, rows), rows_(rows), actions_(spec.spaces.action.n) {
    const std::size_t trained = network_.layout().trained_count();
    parameters_ = AlignedFloats(network_.layout().total);
    gradient_ = AlignedFloats(trained);
    first_ = AlignedFloats(trained);
    second_ = AlignedFloats(trained);
    InitializeParameters(spec, 1, parameters_);
    Random random(2);
    const auto normal = [&] { return static_cast<float>(random.Normal()); };
    observations_.resize(static_cast<std::size_t>(rows) * spec.spaces.observation.element_count());
    std::ranges::generate(observations_, normal);
    for (int i = 0; i < rows; ++i) {
      action_.push_back(static_cast<int>(random.UniformInt(actions_)));
      advantage_.push_back(normal());
      target_.push_back(normal());
    }
    weight_.assign(rows, 1.0f);
    log_prob_.assign(rows, -std::log(static_cast<float>(actions_)));
    logits_.resize(static_cast<std::size_t>(rows) * actions_);
    d_logits_ = logits_;
    values_.resize(rows);
    d_values_.resize(rows);
  }

  void Run() {
    network_.Forward(parameters_, observations_.data(), rows_, logits_.data(), values_.data());
    PpoLoss({.entropy = 0.01f}, rows_, actions_, logits_.data(), values_.data(), action_.data(),
            log_prob_.data(), advantage_.data(), target_.data(), weight_.data(), d_logits_.data(),
            d_values_.data());
    network_.Backward(parameters_, d_logits_.data(), d_values_.data(), gradient_);
    const float scale = std::min(1.0f, 0.5f / (Norm(gradient_) + 1e-6f));
    AdamStep({.learning_rate = 1e-6f}, ++t_, scale, gradient_, first_, second_,
             std::span<float>(parameters_).first(gradient_.size()));
  }

  double flops() const { return network_.flops_per_row() * rows_; }

 private:
  ActorCritic network_;
  int rows_, actions_;
  std::uint64_t t_ = 0;
  AlignedFloats parameters_, gradient_, first_, second_;
  std::vector<float> observations_, logits_, values_, d_logits_, d_values_;
  std::vector<float> log_prob_, advantage_, target_, weight_;
  std::vector<std::int32_t> action_;
};

void Measure(int observations, int units, int actions, int rows, double target) {
  ModelSpec spec;
  spec.spaces = {Box({observations}), Discrete(actions)};
  spec.trunk = {{units, Activation::kTanh}, {units, Activation::kTanh}};
  TrainingStep step(spec, rows);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { step.Run(); }));
  }
  const std::string shape = std::to_string(observations) + "-" + std::to_string(units) + "-" +
                            std::to_string(units) + "-" + std::to_string(actions);
  Print({.name = "training step " + shape + ", minibatch " + std::to_string(rows) + ", " +
                 std::to_string(static_cast<int>(seconds * 1e6)) + " us",
         .unit = "GFLOP/s",
         .ours = step.flops() / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = target});
}

}  // namespace
}  // namespace murmurate

int main() {
  murmurate::Measure(4, 64, 2, 64, 0);
  murmurate::Measure(4, 64, 2, 256, 0);
  murmurate::Measure(4, 64, 2, 1024, 0.45);
  murmurate::Measure(17, 256, 6, 1024, 0);
}
