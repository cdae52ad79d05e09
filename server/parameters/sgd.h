// Sgd: x <- x - eta g, and no state but the number of steps. What the equivalences between update
// rules are stated with (rule_settings.h).
#pragma once

#include "server/parameters/optimizer.h"

namespace murmurate {

class Sgd : public Optimizer {
 public:
  explicit Sgd(const SgdSettings& settings) : settings_(settings) {}

  void Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
            std::span<float> parameters) override;
  /// Step's numbers, put into `to`, which is another span; false: some are not finite. It counts
  /// no step: Count does, when all parts of one are done.
  bool StepInto(float learning_rate, float gradient_scale, std::span<const float> from,
                std::span<const float> gradient, std::span<float> to) const;
  void Count() { ++steps_; }
  std::uint64_t steps() const override { return steps_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

 private:
  SgdSettings settings_;
  std::uint64_t steps_ = 0;
};

}  // namespace murmurate
