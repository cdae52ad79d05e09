#include "shared/network/actor_critic.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "shared/compute/gemm.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

Epilogue Forwards(Activation activation) {
  if (activation == Activation::kTanh) return Epilogue::kTanh;
  return activation == Activation::kRelu ? Epilogue::kRelu : Epilogue::kNone;
}

Epilogue Backwards(Activation activation) {
  if (activation == Activation::kTanh) return Epilogue::kTanhGradient;
  return activation == Activation::kRelu ? Epilogue::kReluGradient : Epilogue::kNone;
}

/// Rows that go through all layers together, so that what one layer wrote the next finds in the
/// cache; a multiple of every tile height. 96 is 1 % slower at 64 units and 5 % at 1024.
constexpr int kChunkRows = 192;

struct DenseStep {
  int inputs = 0, outputs = 0;
  Activation activation = Activation::kNone;
  std::size_t weight = 0, bias = 0;  // floats from the start of the parameters
  AlignedFloats output;              // [max_rows][outputs], trunk layers only
  AlignedFloats transposed;          // [outputs][inputs], where the inputs have a gradient
};

/// C = epilogue(A W + b) for rows of a trunk or head.
GemmCall ForwardCall(const DenseStep& layer, int rows, const float* parameters, const float* x,
                     float* y) {
  return {.rows = rows,
          .columns = layer.outputs,
          .depth = layer.inputs,
          .a = x,
          .a_row_stride = layer.inputs,
          .b = parameters + layer.weight,
          .b_row_stride = layer.outputs,
          .c = y,
          .c_row_stride = layer.outputs,
          .bias = parameters + layer.bias,
          .epilogue = Forwards(layer.activation)};
}

}  // namespace

struct ActorCritic::Workspace {
  ModelSpec spec;
  ParameterLayout layout;
  const DenseKernels* kernels = &BestDenseKernels();
  int max_rows, chunk_rows, observations;
  std::vector<DenseStep> policy, critic;  // trunks; critic's is empty when shared
  DenseStep policy_head, critic_head;
  AlignedFloats normalized, scale;
  AlignedFloats d_even, d_odd;  // [chunk_rows][widest]
  const float* input = nullptr;
  int rows = 0;

  Workspace(const ModelSpec& s, int most) : spec(s), layout(s), max_rows(most) {}

  DenseStep MakeLayer(const std::string& name, Activation activation, bool needs_input_gradient) {
    const TensorSlot& weight = layout.Find(name + ".weight");
    DenseStep layer;
    layer.inputs = weight.shape[0];
    layer.outputs = weight.shape[1];
    layer.activation = activation;
    layer.weight = weight.offset;
    layer.bias = layout.Find(name + ".bias").offset;
    if (needs_input_gradient) layer.transposed = AlignedFloats(weight.count);
    return layer;
  }

  std::vector<DenseStep> MakeTrunk(const std::string& name) {
    std::vector<DenseStep> trunk;
    for (std::size_t i = 0; i < spec.trunk.size(); ++i) {
      trunk.push_back(MakeLayer(name + "." + std::to_string(i), spec.trunk[i].activation, i > 0));
      trunk.back().output =
          AlignedFloats(static_cast<std::size_t>(max_rows) * trunk.back().outputs);
    }
    return trunk;
  }

  const float* InputOf(const std::vector<DenseStep>& trunk, std::size_t i, int first) const {
    if (i == 0) return input + std::ptrdiff_t{first} * observations;
    return trunk[i - 1].output.data() + std::ptrdiff_t{first} * trunk[i - 1].outputs;
  }

  void Normalize(std::span<const float> parameters, const float* x) {
    const float* mean = parameters.data() + layout.Find("statistics.observation.mean").offset;
    const float* variance =
        parameters.data() + layout.Find("statistics.observation.variance").offset;
    for (int j = 0; j < observations; ++j) scale[j] = 1.0f / std::sqrt(variance[j] + 1e-8f);
    kernels->normalize(rows, observations, x, mean, scale.data(), normalized.data());
    input = normalized.data();
  }

  void RunTrunk(std::vector<DenseStep>& trunk, const float* parameters, int first, int count) {
    for (std::size_t i = 0; i < trunk.size(); ++i)
      Gemm(ForwardCall(trunk[i], count, parameters, InputOf(trunk, i, first),
                       trunk[i].output.data() + std::ptrdiff_t{first} * trunk[i].outputs));
  }

  /// Adds a layer's weight and bias gradients for `count` rows.
  void AddGradient(const DenseStep& layer, const float* x, const float* dy, int count,
                   float* gradient) const {
    Gemm({.rows = layer.inputs,
          .columns = layer.outputs,
          .depth = count,
          .a = x,
          .a_row_stride = 1,
          .a_column_stride = layer.inputs,
          .b = dy,
          .b_row_stride = layer.outputs,
          .c = gradient + layer.weight,
          .c_row_stride = layer.outputs,
          .accumulate = true});
    kernels->add_column_sums(count, layer.outputs, dy, layer.outputs, gradient + layer.bias);
  }

  /// Gradient of the layer's inputs; `below` (the layer that made them, or none) gives the
  /// epilogue.
  void InputGradient(const DenseStep& layer, const DenseStep& below, const float* y_below,
                     const float* dy, int count, bool accumulate, bool last, float* dx) const {
    Gemm({.rows = count,
          .columns = layer.inputs,
          .depth = layer.outputs,
          .a = dy,
          .a_row_stride = layer.outputs,
          .b = layer.transposed.data(),
          .b_row_stride = layer.inputs,
          .c = dx,
          .c_row_stride = layer.inputs,
          .accumulate = accumulate,
          .epilogue = last ? Backwards(below.activation) : Epilogue::kNone,
          .output = y_below,
          .output_row_stride = below.outputs});
  }

  /// `dy` is the gradient of the top layer's sums, in d_even.
  void TrunkGradient(const std::vector<DenseStep>& trunk, int first, int count, float* gradient) {
    float* dy = d_even.data();
    float* dx = d_odd.data();
    for (std::size_t i = trunk.size(); i-- > 0;) {
      const float* x = InputOf(trunk, i, first);
      AddGradient(trunk[i], x, dy, count, gradient);
      if (i == 0) return;
      InputGradient(trunk[i], trunk[i - 1], x, dy, count, false, true, dx);
      std::swap(dx, dy);
    }
  }

  void BackwardChunk(int first, int count, const float* d_logits, const float* d_values,
                     float* gradient) {
    const float* dl = d_logits + std::ptrdiff_t{first} * policy_head.outputs;
    const float* dv = d_values + first;
    const bool separate = !critic.empty(), flat = policy.empty();
    const float* top = InputOf(policy, policy.size(), first);
    AddGradient(policy_head, top, dl, count, gradient);
    if (!flat)
      InputGradient(policy_head, policy.back(), top, dl, count, false, separate, d_even.data());
    if (separate) {
      TrunkGradient(policy, first, count, gradient);
      top = InputOf(critic, critic.size(), first);
    }
    AddGradient(critic_head, top, dv, count, gradient);
    if (flat) return;
    std::vector<DenseStep>& trunk = separate ? critic : policy;
    InputGradient(critic_head, trunk.back(), top, dv, count, !separate, true, d_even.data());
    TrunkGradient(trunk, first, count, gradient);
  }

  void TransposeWeights(const float* parameters) {
    const auto transpose = [&](DenseStep& layer) {
      if (layer.transposed.size() > 0)
        kernels->transpose(layer.inputs, layer.outputs, parameters + layer.weight,
                           layer.transposed.data());
    };
    for (DenseStep& layer : policy) transpose(layer);
    for (DenseStep& layer : critic) transpose(layer);
    transpose(policy_head);
    transpose(critic_head);
  }
};

ActorCritic::ActorCritic(const ModelSpec& spec, int max_rows)
    : workspace_(std::make_unique<Workspace>(spec, max_rows)) {
  Workspace& w = *workspace_;
  w.observations = spec.spaces.observation.element_count();
  w.policy = w.MakeTrunk("policy");
  if (spec.separate_value) w.critic = w.MakeTrunk("critic");
  w.policy_head = w.MakeLayer("policy.head", Activation::kNone, !spec.trunk.empty());
  w.critic_head = w.MakeLayer("critic.head", Activation::kNone, !spec.trunk.empty());
  int widest = 1;
  for (const Layer& layer : spec.trunk) widest = std::max(widest, layer.units);
  w.chunk_rows = std::min(max_rows, kChunkRows);
  w.d_even = AlignedFloats(static_cast<std::size_t>(w.chunk_rows) * widest);
  w.d_odd = AlignedFloats(static_cast<std::size_t>(w.chunk_rows) * widest);
  if (!spec.normalize_observation) return;
  w.normalized = AlignedFloats(static_cast<std::size_t>(max_rows) * w.observations);
  w.scale = AlignedFloats(w.observations);
}

ActorCritic::~ActorCritic() = default;
ActorCritic::ActorCritic(ActorCritic&&) noexcept = default;

const ModelSpec& ActorCritic::spec() const { return workspace_->spec; }
const ParameterLayout& ActorCritic::layout() const { return workspace_->layout; }

void ActorCritic::Forward(std::span<const float> parameters, const float* observations, int rows,
                          float* logits, float* values) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(rows <= w.max_rows, "more rows than the scratch holds");
  MURMURATE_CHECK(parameters.size() == w.layout.total, "another layout's parameters");
  w.rows = rows;
  w.input = observations;
  if (w.spec.normalize_observation) w.Normalize(parameters, observations);
  for (int first = 0; first < rows; first += w.chunk_rows) {
    const int count = std::min(w.chunk_rows, rows - first);
    w.RunTrunk(w.policy, parameters.data(), first, count);
    const float* top = w.InputOf(w.policy, w.policy.size(), first);
    Gemm(ForwardCall(w.policy_head, count, parameters.data(), top,
                     logits + std::ptrdiff_t{first} * w.policy_head.outputs));
    w.RunTrunk(w.critic, parameters.data(), first, count);
    if (!w.critic.empty()) top = w.InputOf(w.critic, w.critic.size(), first);
    Gemm(ForwardCall(w.critic_head, count, parameters.data(), top, values + first));
  }
}

void ActorCritic::Backward(std::span<const float> parameters, const float* d_logits,
                           const float* d_values, std::span<float> gradient) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(w.input != nullptr, "Backward follows a Forward");
  MURMURATE_CHECK(gradient.size() >= w.layout.trained_count(), "room for every gradient");
  std::fill_n(gradient.begin(), w.layout.trained_count(), 0.0f);
  w.TransposeWeights(parameters.data());
  for (int first = 0; first < w.rows; first += w.chunk_rows)
    w.BackwardChunk(first, std::min(w.chunk_rows, w.rows - first), d_logits, d_values,
                    gradient.data());
}

double ActorCritic::flops_per_row() const {
  const Workspace& w = *workspace_;
  double flops = 0;
  const auto add = [&](const DenseStep& layer) {
    const double product = 2.0 * layer.inputs * layer.outputs;
    flops += product * (layer.transposed.size() > 0 ? 3 : 2);
  };
  for (const DenseStep& layer : w.policy) add(layer);
  for (const DenseStep& layer : w.critic) add(layer);
  add(w.policy_head);
  add(w.critic_head);
  return flops;
}

}  // namespace murmurate
