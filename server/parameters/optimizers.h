// The five optimizers: how each steps, and what it keeps. settings: optimizer.h; the arithmetic of
// Adam and RmsProp: server/compute/vector_math.h, of the others: apply.h.
#pragma once

#include <vector>

#include "server/parameters/optimizer.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// What an optimizer keeps of every parameter, by the names that checkpoints have.
struct OptimizerColumns {
  std::vector<const char*> names;
  float first = 0.0f;  ///< of every number
};
OptimizerColumns ColumnsOf(OptimizerSettings::Name name);

/// The part that all five share: the number of steps, and columns of one number for each parameter,
/// which are saved and loaded by their names.
class SteppingOptimizer : public Optimizer {
 public:
  std::uint64_t steps() const override { return steps_; }
  void Forget() override;
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

 protected:
  /// Columns of `count` numbers.
  SteppingOptimizer(OptimizerSettings::Name name, std::size_t count);

  AlignedFloats& column(std::size_t i) { return columns_[i].numbers; }
  std::span<const float> column(std::size_t i) const { return columns_[i].numbers; }

  std::uint64_t steps_ = 0;

 private:
  struct Column {
    const char* name;  ///< in checkpoints
    AlignedFloats numbers;
  };
  const float first_;
  std::vector<Column> columns_;
};

/// x <- x - eta g, without columns. The equivalences between update rules are stated with it
/// (rule_settings.h).
class Sgd : public SteppingOptimizer {
 public:
  Sgd() : SteppingOptimizer(OptimizerSettings::Name::kSgd, 0) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  /// Step's numbers, put into `to`, which is another span; false: some are not finite. It counts
  /// no step: Count does, when all parts of one are done.
  bool StepInto(float learning_rate, float gradient_scale, std::span<const float> from,
                std::span<const float> gradient, std::span<float> to) const;
  void Count() { ++steps_; }
};

class Adam : public SteppingOptimizer {
 public:
  Adam(const AdamSettings& settings, std::size_t count)
      : SteppingOptimizer(OptimizerSettings::Name::kAdam, count), settings_(settings) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;

  std::span<const float> first() const { return column(0); }   ///< the first moments
  std::span<const float> second() const { return column(1); }  ///< the second moments

 private:
  AdamSettings settings_;
};

/// RMSProp, whose mean squares begin at 1.
class RmsProp : public SteppingOptimizer {
 public:
  RmsProp(const RmsPropSettings& settings, std::size_t count);

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;

  std::span<const float> square() const { return column(0); }  ///< the mean squares

 private:
  RmsPropSettings settings_;
};

/// Nesterov's momentum, as EAMSGD has it (Zhang, Choromanska, LeCun, NIPS 2015, Algorithm 2):
///
///   v <- delta v - eta g(x + delta v),   x <- x + v
///
/// Gradients are taken at the look-ahead y = x + delta v. So that x and y need not both be kept, a
/// step has two halves, in the order of the authors' code (mpiT, optim-eamsgd.lua):
///
///   Step       x <- y - eta g,  v <- v - eta g     v was delta v since the last LookAhead
///              (an exchange with the center acts on this x)
///   LookAhead  v <- delta v,    y <- x + v
///
/// With delta = 0 both give the bits of Sgd. What is published and kept in checkpoints is y, with v
/// as it is after LookAhead.
class Momentum : public SteppingOptimizer {
 public:
  Momentum(const MomentumSettings& settings, std::size_t count)
      : SteppingOptimizer(OptimizerSettings::Name::kMomentum, count), settings_(settings) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  void LookAhead(std::span<float> parameters) override;

  std::span<const float> velocity() const { return column(0); }

 private:
  const MomentumSettings settings_;
};

/// Adagrad: the server side of Downpour (Dean et al., NIPS 2012), a rate for each parameter j:
///
///   x_j <- x_j - eta a_j / (sqrt(sum_l a_{j,l}^2) + epsilon)
///
/// over all contributions a so far. Epsilon stands outside the root, as PyTorch's does; without it
/// a parameter that never moved would be 0/0.
class Adagrad : public SteppingOptimizer {
 public:
  Adagrad(const AdagradSettings& settings, std::size_t count)
      : SteppingOptimizer(OptimizerSettings::Name::kAdagrad, count), settings_(settings) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;

  std::span<const float> sum() const { return column(0); }  ///< of squares

 private:
  const AdagradSettings settings_;
};

}  // namespace murmurate
