// WeightDecay: decoupled weight decay (AdamW: Loshchilov and Hutter, arXiv 1711.05101, Algorithm 2)
// before the steps of any optimizer:
//
//   p <- (1 - learning_rate * decay) p      for the kernels' parameters
//   p <- p - the optimizer's step           for all
//
// Kernels are the tensors of two or more dimensions (of dense, convolutional and recurrent layers
// and heads). Biases, gains, shifts and log deviations do not decay, as in the parameter groups
// with which AdamW is usually given to a network. Each number is stepped by itself, so the parts of
// a block that several shards step have the bits of the whole.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/parameters/optimizer.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

bool IsKernel(const TensorSlot& tensor);

class WeightDecay : public Optimizer {
 public:
  /// `kernels`: what decays, from the start of the parameters that `optimizer` steps.
  WeightDecay(std::unique_ptr<Optimizer> optimizer, float decay, std::vector<SectionRange> kernels)
      : optimizer_(std::move(optimizer)), decay_(decay), kernels_(std::move(kernels)) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  void LookAhead(std::span<float> parameters) override { optimizer_->LookAhead(parameters); }
  std::uint64_t steps() const override { return optimizer_->steps(); }
  void Forget() override { optimizer_->Forget(); }
  void Save(const StateWriter& writer) const override { optimizer_->Save(writer); }
  Status Load(const StateReader& reader) override { return optimizer_->Load(reader); }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  const float decay_;
  const std::vector<SectionRange> kernels_;
};

}  // namespace murmurate
