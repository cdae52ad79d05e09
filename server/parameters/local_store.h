// LocalStore: where the parameters of a single learner are stepped: clip by global norm, then
// the optimizer.
//
// One learner, one thread, no other writer. The gradient covers policy and value together, so the
// clip does too: g <- g * min(1, max_grad_norm / ||g||), as torch.nn.utils.clip_grad_norm_ does it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/parameters/optimizer.h"
#include "server/parameters/parameter_store.h"

namespace murmurate {

class LocalStore : public ParameterStore {
 public:
  /// `max_grad_norm` 0: never clip.
  LocalStore(std::unique_ptr<Optimizer> optimizer, double max_grad_norm);

  /// Applies `gradient` to `parameters` at `learning_rate`; returns the norm it had before
  /// clipping. A gradient whose norm is not finite is left out (the norm says so): one absurd
  /// reward must not turn the model into NaN for good. Allocates nothing.
  double Step(double learning_rate, std::span<const float> gradient,
              std::span<float> parameters) override;

  bool alone() const override { return true; }
  bool ForgetGradients() override {
    optimizer_->Forget();
    return true;
  }
  void Save(const StateWriter& writer) const override { optimizer_->Save(writer); }
  Status Load(const StateReader& reader) override { return optimizer_->Load(reader); }

  std::uint64_t updates() const override { return optimizer_->steps(); }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  const std::unique_ptr<Optimizer> optimizer_;
  const double max_grad_norm_;
};

}  // namespace murmurate
