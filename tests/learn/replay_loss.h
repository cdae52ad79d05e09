// What tests of the losses of a ReplayAlgorithm share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/replay_planner.h"
#include "server/network/actor_critic.h"
#include "server/network/single_network.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/random_windows.h"

namespace murmurate {

/// Of an algorithm with a replay: small minibatches, returns of two steps, rewards as they come.
inline AlgorithmSettings SmallReplay(const char* algorithm) {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed(algorithm);
  settings.gamma = 0.9;
  settings.trajectory_length = 4;
  settings.batch_steps = 16;
  settings.normalize_reward = false;
  settings.max_grad_norm = 0;
  settings.replay.minibatch = 5;
  settings.n_step = 2;
  settings.target_every = 2;
  settings.target_part = 0.1;
  return settings;
}

/// The networks that an algorithm of these settings learns for an observation of three numbers and
/// an action.
inline Result<ModelSpec> SmallNetworks(const AlgorithmSettings& settings, const Space& action,
                                       bool normalize = false) {
  const PolicyAndValue model{.spaces = {Box({3}), action},
                             .trunk = {{8, Activation::kTanh}},
                             .normalize_observation = normalize};
  return settings.kind->networks(model.ToSpec(), settings);
}

/// A model with what its losses need: parameters of which targets are others than what they follow.
class ReplayLossTest : public testing::Test {
 protected:
  ReplayLossTest(const AlgorithmSettings& settings, const ModelSpec& spec, bool masked)
      : settings_(settings),
        spec_(spec),
        layout_(spec_),
        action_(spec_.spaces.action, spec_.continuous),
        windows_(spec_, 10, 4, masked),
        planner_(settings_, 77),
        parameters_(layout_.total),
        gradient_(layout_.trained_count()) {
    InitializeParameters(spec_, 4, parameters_, {Initializer::kXavier});
    Random random(5);
    for (float& parameter : parameters_) parameter += 0.4f * (random.Uniform() - 0.5f);
    algorithm_ = settings_.kind->make(spec_, settings_);
    plan_ = &planner_.Plan(windows_.batch, Rates::Of(settings_), 0, 1.0);
    algorithm_->Prepare(parameters_, windows_.batch, *plan_);
  }

  const std::byte* Observation(std::int32_t row) const {
    return windows_.batch.ObservationRow(static_cast<std::size_t>(row));
  }
  std::vector<float> Run(const char* network, std::span<const float> parameters,
                         const std::byte* observation, const float* action) const {
    SingleNetwork one(spec_, layout_, network, 1);
    std::vector<float> outputs(static_cast<std::size_t>(one.outputs()));
    one.Forward(parameters, observation, 1, outputs.data(), action);
    return outputs;
  }
  /// Compares the gradient of a network with that of `loss`(parameters).
  template <typename Loss>
  void Compare(const std::string& network, const Loss& loss) const {
    for (const TensorSlot& slot : layout_.tensors) {
      if (!slot.name.starts_with(network + ".")) continue;
      for (std::size_t i = slot.offset; i < slot.offset + slot.count; i += 3) {
        constexpr float kBy = 1e-2f;
        std::vector<float> moved(parameters_.begin(), parameters_.end());
        moved[i] += kBy;
        const double more = loss(moved);
        moved[i] -= 2 * kBy;
        EXPECT_NEAR(gradient_[i], (more - loss(moved)) / (2 * kBy), 2e-3) << slot.name << ' ' << i;
      }
    }
  }
  std::span<const std::int32_t> Rows(std::size_t update) const {
    return std::span(plan_->order)
        .subspan(plan_->updates[update].first, plan_->updates[update].count);
  }

  const AlgorithmSettings settings_;
  const ModelSpec spec_;
  const ParameterLayout layout_;
  const ActionLayout action_;
  RandomWindows windows_;
  ReplayPlanner planner_;
  AlignedFloats parameters_;
  std::vector<float> gradient_;
  std::unique_ptr<Algorithm> algorithm_;
  const BatchPlan* plan_ = nullptr;
};

}  // namespace murmurate
