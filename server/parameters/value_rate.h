// ValueRate: any optimizer, with a learning rate of their own for the networks that only the learner
// has (the value): `factor` times that of the others.
//
//   p <- p + factor (what the optimizer made of p - p)
//
// Every step is proportional to its rate, so this is what the optimizer would do at the other rate,
// up to rounding; decoupled weight decay too, as in the parameter groups of PyTorch. Clipping sees
// the gradients as they are. Each number is stepped by itself, so the parts of a block that several
// shards step have the bits of the whole. What the optimizer keeps knows nothing of the factor.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// Whether it belongs to a network that players do not receive. (One that shares its trunk with the
/// policy has only its head to itself.)
bool IsOfLearner(const TensorSlot& tensor);

class ValueRate : public Optimizer {
 public:
  /// `values`: what is stepped by the factor, from the start of the parameters that `optimizer`
  /// steps.
  ValueRate(std::unique_ptr<Optimizer> optimizer, float factor, std::vector<SectionRange> values);

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  void LookAhead(std::span<float> parameters) override;
  std::uint64_t steps() const override { return optimizer_->steps(); }
  void Forget() override { optimizer_->Forget(); }
  void Save(const StateWriter& writer) const override { optimizer_->Save(writer); }
  Status Load(const StateReader& reader) override { return optimizer_->Load(reader); }

 private:
  void Keep(std::span<const float> parameters);
  void ScaleMoves(std::span<float> parameters) const;

  const std::unique_ptr<Optimizer> optimizer_;
  const float factor_;
  const std::vector<SectionRange> values_;
  AlignedFloats before_;  ///< the values, one after the other
};

}  // namespace murmurate
