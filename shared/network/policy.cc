#include "shared/network/policy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "shared/compute/dense_kernels.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kRowsAtOnce = 64;
constexpr int kNarrow = 8;  // a head of so few actions is packed transposed: one dot product each

int RoundUp(int n) { return (n + 15) / 16 * 16; }

Epilogue ToEpilogue(Activation activation) {
  if (activation == Activation::kTanh) return Epilogue::kTanh;
  return activation == Activation::kRelu ? Epilogue::kRelu : Epilogue::kNone;
}

struct PackedLayer {
  int inputs, outputs;
  Epilogue epilogue;
  bool transposed;
  std::size_t weight_source, bias_source;  // floats from the start of the policy section
  std::size_t weight, bias;                // floats from the start of the packed block
};

}  // namespace

struct Policy::Packed {
  const DenseKernels* kernels = &BestDenseKernels();
  std::vector<PackedLayer> layers;
  AlignedFloats block;
  AlignedFloats mean, scale;  // empty without normalization
  std::size_t policy_count = 0, statistics_count = 0, mean_source = 0, variance_source = 0;
  int observations = 0, actions = 0, widest = 0;

  /// Places a layer after the first `size` floats of the block; gives the size with it.
  std::size_t AddLayer(const ParameterLayout& layout, const std::string& name, Epilogue epilogue,
                       std::size_t size) {
    const TensorSlot& weight = layout.Find(name + ".weight");
    const int inputs = weight.shape[0], outputs = weight.shape[1];
    const std::size_t bias = size + static_cast<std::size_t>(inputs) * RoundUp(outputs);
    layers.push_back({.inputs = inputs,
                      .outputs = outputs,
                      .epilogue = epilogue,
                      .transposed = outputs <= kNarrow,
                      .weight_source = weight.offset - layout.policy.offset,
                      .bias_source = layout.Find(name + ".bias").offset - layout.policy.offset,
                      .weight = size,
                      .bias = bias});
    widest = std::max(widest, RoundUp(outputs));
    return bias + RoundUp(outputs);
  }

  void PackLayer(const PackedLayer& layer, const float* policy) {
    float* const weight = block.data() + layer.weight;
    const float* from = policy + layer.weight_source;
    if (layer.transposed) {
      kernels->transpose(layer.inputs, layer.outputs, from, weight);
    } else {
      for (int i = 0; i < layer.inputs; ++i, from += layer.outputs)
        std::copy_n(from, layer.outputs, weight + std::ptrdiff_t{i} * RoundUp(layer.outputs));
    }
    std::copy_n(policy + layer.bias_source, layer.outputs, block.data() + layer.bias);
  }

  GemmCall Call(const PackedLayer& layer, int rows) const {
    const float* const weight = block.data() + layer.weight;
    return {.rows = rows,
            .columns = layer.transposed ? layer.outputs : RoundUp(layer.outputs),
            .depth = layer.inputs,
            .b = layer.transposed ? nullptr : weight,
            .b_row_stride = RoundUp(layer.outputs),
            .b_transposed = layer.transposed ? weight : nullptr,
            .c_row_stride = RoundUp(layer.outputs),
            .bias = block.data() + layer.bias,
            .epilogue = layer.epilogue};
  }
};

Policy::Policy(const ModelSpec& spec) : packed_(std::make_unique<Packed>()) {
  const ParameterLayout layout(spec);
  Packed& p = *packed_;
  p.observations = spec.spaces.observation.element_count();
  p.actions = spec.spaces.action.n;
  p.policy_count = layout.policy.count;
  p.statistics_count = layout.statistics.count;
  std::size_t size = 0;
  for (std::size_t i = 0; i < spec.trunk.size(); ++i)
    size = p.AddLayer(layout, "policy." + std::to_string(i), ToEpilogue(spec.trunk[i].activation),
                      size);
  p.block = AlignedFloats(p.AddLayer(layout, "policy.head", Epilogue::kNone, size));
  if (!spec.normalize_observation) return;
  p.mean = AlignedFloats(p.observations);
  p.scale = AlignedFloats(p.observations);
  p.mean_source = layout.Find("statistics.observation.mean").offset - layout.statistics.offset;
  p.variance_source =
      layout.Find("statistics.observation.variance").offset - layout.statistics.offset;
}

Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;

void Policy::Pack(std::span<const float> policy, std::span<const float> statistics) {
  Packed& p = *packed_;
  MURMURATE_CHECK(policy.size() == p.policy_count, "another layout's policy section");
  MURMURATE_CHECK(statistics.size() == p.statistics_count, "another layout's statistics section");
  for (const PackedLayer& layer : p.layers) p.PackLayer(layer, policy.data());
  for (std::size_t i = 0; i < p.mean.size(); ++i) {
    p.mean[i] = statistics[p.mean_source + i];
    p.scale[i] = 1.0f / std::sqrt(statistics[p.variance_source + i] + 1e-8f);
  }
}

std::size_t Policy::ScratchFloats(int rows) const {
  const std::size_t at_once = std::min(rows, kRowsAtOnce);
  return at_once * (2 * packed_->widest + RoundUp(static_cast<int>(packed_->mean.size())));
}

void Policy::Logits(const float* observations, int rows, float* logits, float* scratch) const {
  const Packed& p = *packed_;
  const int at_once = std::min(rows, kRowsAtOnce);
  float* const ping = scratch;
  float* const pong = ping + std::ptrdiff_t{at_once} * p.widest;
  float* const normalized = pong + std::ptrdiff_t{at_once} * p.widest;
  for (int first = 0; first < rows; first += at_once) {
    const int count = std::min(at_once, rows - first);
    const float* x = observations + std::ptrdiff_t{first} * p.observations;
    std::ptrdiff_t x_stride = p.observations;
    if (p.mean.size() > 0) {
      p.kernels->normalize(count, p.observations, x, p.mean.data(), p.scale.data(), normalized);
      x = normalized;
    }
    float* y = ping;
    for (const PackedLayer& layer : p.layers) {
      GemmCall call = p.Call(layer, count);
      call.a = x;
      call.a_row_stride = x_stride;
      call.c = y;
      if (&layer == &p.layers.back()) {
        call.columns = call.c_row_stride = p.actions;
        call.c = logits + std::ptrdiff_t{first} * p.actions;
      }
      p.kernels->gemm(call);
      x = y;
      x_stride = RoundUp(layer.outputs);
      y = y == ping ? pong : ping;
    }
  }
}

int Policy::observation_count() const { return packed_->observations; }
int Policy::action_count() const { return packed_->actions; }

}  // namespace murmurate
