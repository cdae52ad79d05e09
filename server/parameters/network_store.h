// NetworkStore: as LocalStore, with an optimizer of its own for each network, so that some of them
// can be stepped while others wait (PlannedUpdate::networks): what an optimizer has of a network
// that waits, its moments and their number, stays as it is. A zero gradient would move Adam.
//
// A gradient is clipped by its norm over the networks that are stepped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/parameters/optimizer.h"
#include "server/parameters/parameter_store.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class NetworkStore : public ParameterStore {
 public:
  /// `max_grad_norm` 0: never clip.
  NetworkStore(const ModelSpec& spec, const ParameterLayout& layout,
               const OptimizerSettings& settings, double max_grad_norm);

  double Step(double learning_rate, std::span<const float> gradient,
              std::span<float> parameters) override;
  double StepNetworks(std::uint32_t networks, double learning_rate, std::span<const float> gradient,
                      std::span<float> parameters) override;

  bool alone() const override { return true; }
  bool ForgetGradients() override;
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;
  std::uint64_t updates() const override { return updates_; }

 private:
  struct Network {
    SectionRange range;
    std::unique_ptr<Optimizer> optimizer;
  };
  std::vector<Network> networks_;
  const double max_grad_norm_;
  std::uint64_t updates_ = 0;
};

/// Where the parameters of each network that is trained lie, in the spec's order; together all that
/// are trained.
std::vector<SectionRange> TrainedNetworks(const ModelSpec& spec, const ParameterLayout& layout);

}  // namespace murmurate
