// An agent on a workbench: its model, weights and blocks, with no client, socket or thread around
// it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "client/agent_core.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/wire/messages.h"

namespace murmurate {

inline PolicyAndValue SmallSpec(int observations = 3, int actions = 4) {
  PolicyAndValue spec;
  spec.spaces = {Box({observations}), Discrete(actions)};
  spec.trunk = {{8, Activation::kTanh}};
  return spec;
}

/// Numbers that differ from version to version and from place to place.
inline AlignedFloats SomeParameters(const ModelSpec& spec, std::uint64_t seed) {
  AlignedFloats parameters(ParameterLayout(spec).total);
  Random random(seed);
  for (const TensorSlot& slot : ParameterLayout(spec).tensors) {
    for (std::size_t i = 0; i < slot.count; ++i)
      parameters[slot.offset + i] = random.Uniform() - 0.5f;
  }
  return parameters;
}

/// log pi(action | observation) of SmallSpec's network in double precision, from the flat block
/// alone.
inline std::vector<double> LogProbabilities(const ModelSpec& spec, const AlignedFloats& parameters,
                                            std::span<const float> observation) {
  const ParameterLayout layout(spec);
  std::vector<double> x(observation.begin(), observation.end());
  const auto dense = [&](const std::string& name, int units, bool tanh) {
    const float* weight = parameters.data() + layout.Find(name + ".weight").offset;
    const float* bias = parameters.data() + layout.Find(name + ".bias").offset;
    std::vector<double> y(static_cast<std::size_t>(units));
    for (int j = 0; j < units; ++j) {
      double sum = bias[j];
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * weight[i * units + j];
      y[j] = tanh ? std::tanh(sum) : sum;
    }
    x = y;
  };
  const std::vector<Layer>& trunk = spec.policy().trunk;
  for (std::size_t i = 0; i < trunk.size(); ++i) {
    dense("policy." + std::to_string(i), trunk[i].units, true);
  }
  dense("policy.head", spec.spaces.action.n, false);
  double sum = 0;
  for (const double logit : x) sum += std::exp(logit);
  for (double& logit : x) logit -= std::log(sum);
  return x;
}

/// The version that a step was played under.
inline std::uint64_t VersionAt(const TrajectoryView& view, int step) {
  std::uint64_t version = 0;
  view.changes.EachRun(view.steps, [&](std::uint64_t later, int begin, int end) {
    if (step >= begin && step < end) version = view.version + later;
  });
  return version;
}

/// Waits until `until` is true, at most five seconds.
template <typename Condition>
bool Soon(Condition until) {
  const std::int64_t deadline = MonotonicNs() + 5 * kNanosecondsPerSecond;
  while (!until()) {
    if (MonotonicNs() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Buffers with blocks of its own pool; without, for length 0.
inline std::unique_ptr<AgentBuffers> BuffersOf(std::shared_ptr<PolicySet> policies, int rows,
                                               int trajectory_length) {
  std::shared_ptr<BlockPool> pool;
  if (trajectory_length > 0) {
    pool = std::make_shared<BlockPool>(TrajectoryLayout(policies->spec(), trajectory_length),
                                       policies->spec().ShortHash());
  }
  return MakeAgentBuffers(std::make_shared<AgentShape>(std::move(policies)), rows, pool);
}

/// As AgentGroup::Act does: observations [size][D] -> actions [size].
inline void ActTogether(std::span<AgentCore* const> agents, std::span<const float> observations,
                        std::span<std::int32_t> actions) {
  const std::size_t width = observations.size() / agents.size();
  for (std::size_t i = 0; i < agents.size(); ++i) {
    agents[i]->observation().Observe(observations.subspan(i * width, width));
  }
  AgentCore::StepTogether(agents);
  for (std::size_t i = 0; i < agents.size(); ++i) actions[i] = agents[i]->action().choice();
}

/// An AgentCore of one float32 box and one choice, played as an Agent is.
struct BenchAgent : AgentCore {
  using AgentCore::AgentCore;
  int Act(std::span<const float> numbers) {
    observation().Observe(numbers);
    Step();
    return action().choice();
  }
  using AgentCore::End;
  void End(EndKind kind, std::span<const float> final_observation) {
    if (kind == kTruncated) observation().Observe(final_observation);
    End(kind);
  }
  /// Any spaces.
  void Play(const Observation& scene) {
    observation().Observe(scene);
    observation().SetMask(scene.mask());
    Step();
  }
};

struct Workbench {
  explicit Workbench(int trajectory_length, ClientOptions options = {},
                     ModelSpec model_spec = SmallSpec())
      : spec(std::move(model_spec)),
        wakeup(std::make_shared<SenderWakeup>()),
        settings(std::make_shared<SettingsTable>()),
        model(std::make_shared<ClientModel>("default", spec.spaces, options, wakeup, settings)),
        policies(std::make_shared<PolicySet>(spec, model->pins)),
        agent(std::make_shared<BenchAgent>(model, 0, 0, 1)),
        length(trajectory_length) {
    if (length > 0) Fit();
  }
  void Fit() {
    auto buffers = BuffersOf(policies, 1, length);
    ring = buffers->ring;
    agent->shared().Fit(std::move(buffers));
  }
  void Publish(std::uint64_t version, ActSettings act = {}) {
    const AlignedFloats all = SomeParameters(spec, version);
    const std::span<const float> flat = all;
    const ParameterLayout layout(spec);
    policies->Publish({7, version}, act,
                      flat.subspan(layout.published.offset, layout.published.count),
                      flat.subspan(layout.statistics.offset, layout.statistics.count));
    model->wait.Progress();
  }
  std::vector<float> Observation(int step) const {
    std::vector<float> observation(static_cast<std::size_t>(spec.spaces.observation.shape[0]));
    for (std::size_t i = 0; i < observation.size(); ++i) {
      observation[i] = static_cast<float>(std::sin(0.7 * step + static_cast<double>(i)));
    }
    return observation;
  }
  int Act(int step) { return agent->Act(Observation(step)); }

  /// The next block as the learner will read it: decoded from its columns and checked. It stays
  /// with the sender until Release.
  struct Received {
    TrajectoryBlock* block = nullptr;
    TrajectoryView view;
    std::vector<std::byte> bytes;
  };
  Received PopTrajectory() const {
    Received received;
    received.block = ring->PopReady();
    if (received.block == nullptr) return received;
    wire::Experience metadata;
    metadata.steps = static_cast<std::uint32_t>(received.block->steps);
    metadata.version = received.block->stamp.version;
    metadata.changes = received.block->changes;
    metadata.first_step = received.block->first_step;
    std::size_t bytes = 0;
    metadata.columns = ring->FilledColumns(received.block, &bytes);
    const std::span<const std::byte> whole(received.block->data, bytes);
    const Status viewed = wire::ViewTrajectory(metadata, whole, ring->layout(), &received.view);
    EXPECT_TRUE(viewed.ok()) << viewed;
    const Status checked = CheckTrajectory(received.view, ring->layout());
    EXPECT_TRUE(checked.ok()) << checked;
    return received;
  }

  const ModelSpec spec;
  const std::shared_ptr<SenderWakeup> wakeup;
  std::shared_ptr<SettingsTable> settings;
  const std::shared_ptr<ClientModel> model;
  const std::shared_ptr<PolicySet> policies;
  std::shared_ptr<BenchAgent> agent;
  std::shared_ptr<TrajectoryRing> ring;
  const int length;
};

}  // namespace murmurate
