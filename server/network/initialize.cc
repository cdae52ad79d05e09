#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>

#include "server/network/actor_critic.h"
#include "server/network/orthonormal.h"
#include "server/network/target_networks.h"
#include "shared/core/check.h"
#include "shared/core/thread_team.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

/// A matrix [inputs][outputs] in the parameters, its rows `stride` apart.
struct Weight {
  int inputs, outputs;
  std::ptrdiff_t stride;
  float* values;
  float& at(int i, int j) const { return values[i * stride + j]; }
};

/// The shorter side's vectors are orthogonal, each of length `gain`.
void FillOrthogonal(const Weight& weight, double gain, Random& random, ThreadTeam& team) {
  const bool wide = weight.inputs < weight.outputs;
  const std::size_t n = std::max(weight.inputs, weight.outputs);
  const std::vector<double> q = OrthonormalVectors(std::min(weight.inputs, weight.outputs),
                                                   static_cast<int>(n), random, team);
  constexpr int kStrip = 16;  // columns that are read along together, whichever way q lies
  team.Run([&](int share) {
    for (int begin = kStrip * share; begin < weight.outputs; begin += kStrip * team.size())
      for (int i = 0; i < weight.inputs; ++i)
        for (int j = begin; j < std::min(begin + kStrip, weight.outputs); ++j) {
          const std::size_t at = wide ? i * n + j : j * n + i;
          weight.at(i, j) = static_cast<float>(gain * q[at]);
        }
  });
}

void FillUniform(const Weight& weight, double limit, Random& random) {
  for (int i = 0; i < weight.inputs; ++i)
    for (int j = 0; j < weight.outputs; ++j)
      weight.at(i, j) = static_cast<float>(limit * (2.0 * random.UniformDouble() - 1.0));
}

void FillNormal(const Weight& weight, double deviation, Random& random) {
  for (int i = 0; i < weight.inputs; ++i)
    for (int j = 0; j < weight.outputs; ++j)
      weight.at(i, j) = static_cast<float>(deviation * random.Normal());
}

/// The factor of the heads' weights; 0 for other layers.
double HeadGain(std::string_view name, const Initialization& how) {
  if (name == "policy.head.weight") return how.policy_gain;
  return name.ends_with(".head.weight") ? 1.0 : 0.0;
}

void FillWeight(const TensorSlot& slot, const Initialization& how, Random& random, ThreadTeam& team,
                float* values) {
  const int outputs = slot.shape.back();
  const int inputs = static_cast<int>(slot.count / outputs);
  const Weight weight{inputs, outputs, outputs, values};
  const double head = HeadGain(slot.name, how), scale = head > 0 ? head : 1.0;
  // A convolution's outputs see kernel * kernel inputs; as many outputs see each of its inputs.
  const double places = slot.shape.size() == 4 ? slot.shape[0] * slot.shape[1] : 1.0;
  switch (how.weights) {
    case Initializer::kOrthogonal:
      return FillOrthogonal(weight, head > 0 ? head : std::sqrt(2.0), random, team);
    case Initializer::kXavier:
      return FillUniform(weight, scale * std::sqrt(6.0 / (inputs + places * outputs)), random);
    case Initializer::kHe:
      return FillNormal(weight, scale * std::sqrt(2.0 / inputs), random);
    case Initializer::kNormal:
      return FillNormal(weight, scale, random);
  }
}

/// Weights of an LSTM or a GRU: gate by gate.
void FillGates(const TensorSlot& slot, Random& random, ThreadTeam& team, float* values) {
  const int inputs = slot.shape[0], columns = slot.shape[1];
  for (int first = 0; first < columns; first += slot.gate)
    FillOrthogonal({inputs, slot.gate, columns, values + first}, 1.0, random, team);
}

void FillGateBias(const TensorSlot& slot, float second_gate, float* values) {
  std::fill_n(values + slot.gate, slot.gate, second_gate);
}

void Fill(const TensorSlot& slot, const Initialization& how, Random& random, ThreadTeam& team,
          float* values) {
  switch (slot.first) {
    case FirstValue::kZeros:
      return;
    case FirstValue::kOnes:
      std::fill_n(values, slot.count, 1.0f);
      return;
    case FirstValue::kWeight:
      return FillWeight(slot, how, random, team, values);
    case FirstValue::kGates:
      return FillGates(slot, random, team, values);
    case FirstValue::kForgetBias:
      return FillGateBias(slot, how.keep_bias.value_or(1.0f), values);
    case FirstValue::kUpdateBias:
      return FillGateBias(slot, how.keep_bias.value_or(0.0f), values);
  }
}

/// Threads that are worth starting: as many as there are processors, where the orthogonal weights
/// take more than some 20 ms by one thread.
int ThreadsFor(const ParameterLayout& layout) {
  constexpr double kMuch = 1e9;  // operations
  constexpr unsigned kMost = 16;
  double operations = 0;
  for (const TensorSlot& slot : layout.tensors) {
    if (slot.shape.size() < 2) continue;
    const double outputs = slot.shape.back(), inputs = static_cast<double>(slot.count) / outputs;
    operations += 2 * inputs * outputs * std::min(inputs, outputs);
  }
  return operations < kMuch
             ? 1
             : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, kMost));
}

/// A team of `size` threads, or of one where the system has no more to give.
std::unique_ptr<ThreadTeam> MakeTeam(int size) try {
  return std::make_unique<ThreadTeam>("mmr-init", size);
} catch (const std::system_error&) {
  return std::make_unique<ThreadTeam>("mmr-init", 1);
}

bool IsOfTarget(const ModelSpec& spec, const TensorSlot& slot) {
  const NetworkSpec* const network = spec.Find(slot.name.substr(0, slot.name.find('.')));
  return network != nullptr && !network->follows.empty();
}

/// The log deviations of an action's numbers: free ones, or the head's biases for them.
void FillDeviations(const ModelSpec& spec, const ParameterLayout& layout, float deviation,
                    std::span<float> parameters) {
  const ActionLayout action(spec.spaces.action, spec.continuous);
  const float value = std::log(deviation);
  for (const ActionPart& part : action.parts()) {
    if (part.kind != ActionPart::Kind::kContinuous) continue;
    const bool free = part.first_deviation >= 0;
    const TensorSlot& slot = layout.Find(free ? "policy.log_deviation" : "policy.head.bias");
    const int first = free ? part.first_deviation : part.first_output + part.count;
    std::fill_n(parameters.begin() + slot.offset + first, part.count, value);
  }
}

}  // namespace

void InitializeParameters(const ModelSpec& spec, std::uint64_t seed, std::span<float> parameters,
                          const Initialization& how) {
  const ParameterLayout layout(spec);
  MURMURATE_CHECK(parameters.size() == layout.total, "another layout's parameters");
  std::fill(parameters.begin(), parameters.end(), 0.0f);
  const std::unique_ptr<ThreadTeam> team = MakeTeam(ThreadsFor(layout));
  std::uint64_t index = 0;
  for (const TensorSlot& slot : layout.tensors) {
    if (IsOfTarget(spec, slot)) continue;
    const bool draws = slot.first == FirstValue::kWeight || slot.first == FirstValue::kGates;
    Random random(draws ? DeriveSeed(seed, index++) : 0);
    Fill(slot, how, random, *team, parameters.data() + slot.offset);
  }
  FillDeviations(spec, layout, how.deviation, parameters);
  TargetNetworks(spec, layout).Move(parameters, 1.0f);  // a target begins as what it follows
}

}  // namespace murmurate
