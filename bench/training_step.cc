// One training step (forward, PPO loss, backward, clip, Adam) of an actor-critic on one core,
// against that core's peak of fused multiply-adds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "shared/compute/losses.h"
#include "shared/compute/vector_math.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/network_plan.h"
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
    const ObservationLayout row(StackedObservation(spec));
    observations_.resize(rows * row.row_bytes() / 4);
    std::ranges::generate(observations_, [&] {  // bytes, or the bits of a number
      return row.plain() ? std::bit_cast<std::uint32_t>(normal())
                         : static_cast<std::uint32_t>(random.Next());
    });
    sequences_ = {.steps = std::min(rows, 32), .count = rows / std::min(rows, 32)};
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
    network_.Forward(parameters_, observations_.data(), rows_, logits_.data(), values_.data(),
                     &sequences_);
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
  Sequences sequences_;  // of recurrent models
  std::vector<std::uint32_t> observations_;
  std::vector<float> logits_, values_, d_logits_, d_values_;
  std::vector<float> log_prob_, advantage_, target_, weight_;
  std::vector<std::int32_t> action_;
};

void Measure(const std::string& model, const ModelSpec& spec, int rows, double target) {
  TrainingStep step(spec, rows);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { step.Run(); }));
  }
  Print({.name = "training step " + model + ", minibatch " + std::to_string(rows) + ", " +
                 std::to_string(static_cast<int>(seconds * 1e6)) + " us",
         .unit = "GFLOP/s",
         .ours = step.flops() / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = target});
}

void MeasureDense(int observations, int units, int actions, int rows, double target) {
  ModelSpec spec;
  spec.spaces = {Box({observations}), Discrete(actions)};
  spec.trunk = {{units, Activation::kTanh}, {units, Activation::kTanh}};
  Measure(std::to_string(observations) + "-" + std::to_string(units) + "-" + std::to_string(units) +
              "-" + std::to_string(actions),
          spec, rows, target);
}

/// As text, without the first line.
void MeasureText(const std::string& model, const std::string& text, int rows, double target) {
  Measure(model, *ModelSpec::Parse("murmurate-model 1\n" + text), rows, target);
}

constexpr const char* kNatureCnn =
    "observation uint8 84 84 4\naction discrete 6\ninput - stack 1\nconv 32 8 4 0 relu\n"
    "conv 64 4 2 0 relu\nconv 64 3 1 0 relu\nflatten\ntrunk\ndense 512 relu\n"
    "separate_value 0\nnormalize_observation 0\n";
constexpr const char* kLstm =
    "observation float32 17\naction discrete 6\ndense 64 tanh\nlstm 128\nseparate_value 0\n"
    "normalize_observation 0\n";

}  // namespace
}  // namespace murmurate

int main() {
  murmurate::MeasureDense(4, 64, 2, 64, 0);
  murmurate::MeasureDense(4, 64, 2, 256, 0);
  murmurate::MeasureDense(4, 64, 2, 1024, 0.45);
  murmurate::MeasureDense(17, 256, 6, 1024, 0);
  murmurate::MeasureText("nature_cnn 84x84x4", murmurate::kNatureCnn, 256, 0.6);
  murmurate::MeasureText("17-64-lstm128-6 in sequences of 32", murmurate::kLstm, 1024, 0);
}
