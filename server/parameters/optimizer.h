// Optimizer: makes a step of the parameters of a gradient, and keeps what it needs between steps.
//
// One thread uses an object at a time. Its state belongs to it alone; it is part of a checkpoint,
// never of what is published.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/compute/vector_math.h"
#include "shared/core/enum_names.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One step along -gradient_scale * gradient, from the parameters at which it was taken.
  /// Allocates nothing.
  virtual void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                    std::span<float> parameters) = 0;
  /// Called once after each Step, and after all else that changed the parameters since (an exchange
  /// with a center): moves them to where the next gradient is to be taken (Momentum). Most stay.
  virtual void LookAhead(std::span<float> /*parameters*/) {}
  virtual std::uint64_t steps() const = 0;
  /// Is again as it was made: what it knows of earlier gradients, and their number, is gone.
  virtual void Forget() = 0;

  virtual void Save(const StateWriter& writer) const = 0;
  /// On failure some of it may have changed: do not step.
  virtual Status Load(const StateReader& reader) = 0;
};

struct MomentumSettings {
  float delta = 0.9f;  ///< EAMSGD's authors' demo: 0.99 at a rate of 0.01
};

struct AdagradSettings {
  float epsilon = 1e-5f;  ///< outside the root
};

struct OptimizerSettings {
  enum class Name : std::uint8_t { kAdam, kRmsProp, kSgd, kMomentum, kAdagrad } name = Name::kAdam;
  AdamSettings adam = {};        ///< the rate is that of each Step
  RmsPropSettings rmsprop = {};  ///< likewise
  MomentumSettings momentum = {};
  AdagradSettings adagrad = {};
  float weight_decay = 0.0f;  ///< of kernels, decoupled, whatever the name (weight_decay.h)
  float value_rate = 1.0f;    ///< the value's rate for each of the policy's (value_rate.h)
};

inline constexpr EnumName<OptimizerSettings::Name> kOptimizerNames[] = {
    {OptimizerSettings::Name::kAdam, "adam"},
    {OptimizerSettings::Name::kRmsProp, "rmsprop"},
    {OptimizerSettings::Name::kSgd, "sgd"},
    {OptimizerSettings::Name::kMomentum, "momentum"},
    {OptimizerSettings::Name::kAdagrad, "adagrad"}};
constexpr std::span<const EnumName<OptimizerSettings::Name>> NamesOf(OptimizerSettings::Name) {
  return kOptimizerNames;
}

/// Whether a step is as long for a gradient as for twice that gradient (adam, rmsprop, adagrad),
/// since it is divided by the size of those before it. Not so sgd and momentum.
bool IgnoresScale(OptimizerSettings::Name name);

/// The numbers of the settings of `name`, the learning rate left out, in an order that stays: texts
/// that are compared between processes list them.
std::vector<float> NumbersOf(const OptimizerSettings& settings, OptimizerSettings::Name name);

/// An optimizer for `range` of the parameters that `layout` says are trained, padding included (it
/// is zero and stays zero).
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings,
                                         const ParameterLayout& layout, SectionRange range);
/// One for `count` parameters of which no layout says what they are: settings.weight_decay is 0 and
/// value_rate 1.
std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings, std::size_t count);

}  // namespace murmurate
