#include "tests/network/network_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kNone:
      break;
  }
  return x;
}

/// y += x W, with W [in][columns].
void AddProduct(const std::vector<double>& x, const double* w, int columns, int from, int to,
                double* y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int j = from; j < to; ++j) y[j - from] += x[i] * w[i * columns + j];
}

}  // namespace

std::vector<NetworkCase> NetworkCases() {
  return {
      {"ConvBytes",
       "observation uint8 9 7 2\naction discrete 3\ninput - stack 1\nconv 5 3 2 1 relu\n"
       "conv 6 3 1 0 elu\nflatten\ntrunk\ndense 11 relu\nseparate_value 1\n"
       "normalize_observation 0\n"},
      {"Impala",
       "observation float32 11 9 3\naction discrete 4 3\ninput - stack 1\nconv 4 3 1 1 none\n"
       "max_pool 3 2 1\nresidual\nrelu\nconv 4 3 1 1 relu\nconv 4 3 1 1 none\nadd\nrelu\nflatten\n"
       "dense 13 tanh\ntrunk\nseparate_value 0\nnormalize_observation 1\n"},
      {"SeveralInputs",
       "observation.camera uint8 8 9 1\nobservation.kind categories 3 4\nobservation.speed float32 "
       "5\nobservation.aux uint8 6\nobservation.place float32 2\naction.fire binary 2\n"
       "action.turn continuous 2\ninput camera stack 3\nconv 4 4 2 0 relu\nconv 3 2 1 1 none\n"
       "flatten\ninput speed stack 2\ndense 6 tanh\nlayer_norm\ntrunk\nlayer_norm\ndense 12 "
       "sigmoid\n"
       "residual\ndense 12 elu\ndense 12 none\nadd\nseparate_value 1\nnormalize_observation 1\n"
       "state_dependent_deviation 1\nsquashed 0\n"},
      {"CopiedInputs",
       "observation.a float32 3\nobservation.b float32 4\nobservation.c uint8 5 4 2\naction "
       "discrete 2\ninput b stack 1\nlayer_norm\ndense 5 none\ninput c stack 1\nmax_pool 2 2 0\n"
       "trunk\ndense 7 tanh\nseparate_value 0\nnormalize_observation 0\n"},
      {"ResidualFirst",
       "observation float32 5\naction continuous 3\ntrunk\n"
       "residual\ndense 5 tanh\ndense 5 none\nadd\nelu\nseparate_value 1\n"
       "normalize_observation 0\nstate_dependent_deviation 0\nsquashed 0\n"},
      {"NormsOfPictures",
       "observation uint8 5 6 3\naction discrete 2\ninput - stack 2\nlayer_norm\nsigmoid\n"
       "residual\nconv 6 3 1 1 tanh\nlayer_norm\nadd\nmax_pool 2 1 1\nflatten\nlayer_norm\ntrunk\n"
       "separate_value 0\nnormalize_observation 0\n"},
      {"Recurrent",
       "observation float32 5\naction discrete 3\ndense 8 tanh\nlstm 7\nlayer_norm\ngru 5\ndense 6 "
       "sigmoid\nseparate_value 0\nnormalize_observation 1\n"},
      {"RecurrentPictures",
       "observation.camera uint8 6 7 1\nobservation.kind categories 3\naction.move discrete 3\n"
       "action.turn continuous 1\ninput camera stack 1\nconv 3 3 2 1 elu\nflatten\ntrunk\ngru 6\n"
       "lstm 5\nseparate_value 0\nnormalize_observation 0\nstate_dependent_deviation 1\nsquashed "
       "0\n"},
      {"HeadsAlone",
       "observation.a float32 3\nobservation.b categories 2 2\naction discrete 3\n"
       "separate_value 1\nnormalize_observation 0\n"},
      {"Privileged",
       "observation float32 5\naction discrete 3\nprivileged.map uint8 5 4 1\nprivileged.enemy "
       "float32 2\nprivileged.kind categories 3\ntrunk\nlayer_norm\ndense 7 tanh\nseparate_value "
       "1\n"
       "normalize_observation 0\n"},
      {"PrivilegedOfSeveralInputs",
       "observation.speed float32 5\nobservation.kind categories 3\naction discrete 3\nprivileged "
       "float32 4\ninput speed stack 2\ndense 6 tanh\ntrunk\ndense 7 tanh\nseparate_value 1\n"
       "normalize_observation 1\n"},
      {"PrivilegedOfAPolicyWithMemory",
       "murmurate-model 2\nobservation float32 5\naction discrete 3\nprivileged float32 4\n"
       "normalize_observation 1\nnetworks 2\nnetwork policy published trained\nlstm 6\nhead "
       "action\nnetwork value trained\nreads privileged\ndense 8 tanh\nhead 1\n"},
  };
}

ModelSpec SpecOf(const NetworkCase& network) {
  std::string text = network.text;
  if (text.starts_with("murmurate-model")) return *ModelSpec::Parse(text);
  // The text of a model without encoders has no word "trunk".
  if (text.find("input ") == std::string::npos)
    if (const std::size_t at = text.find("trunk\n"); at != std::string::npos) text.erase(at, 6);
  Result<ModelSpec> spec = ModelSpec::Parse("murmurate-model 1\n" + text);
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  return *std::move(spec);
}

std::vector<std::uint32_t> RandomRows(const ModelSpec& spec, int rows, std::uint64_t seed) {
  const ObservationLayout layout(StackedObservation(spec));
  std::vector<std::uint32_t> words(rows * layout.row_bytes() / 4);
  Random random(seed);
  auto* row = reinterpret_cast<std::byte*>(words.data());
  for (int i = 0; i < rows; ++i, row += layout.row_bytes())
    for (const ObservationInput& input : layout.inputs())
      for (int j = 0; j < input.elements; ++j) {
        std::byte* const at = row + input.offset_bytes;
        if (input.element == Element::kUint8) {
          at[j] = static_cast<std::byte>(random.UniformInt(256));
        } else if (input.element == Element::kInt32) {
          const std::uint32_t category = random.UniformInt(input.categories[j]);
          std::memcpy(at + 4 * j, &category, 4);
        } else {
          const auto number = static_cast<float>(random.Normal());
          std::memcpy(at + 4 * j, &number, 4);
        }
      }
  return words;
}

std::vector<float> RandomParameters(const ModelSpec& spec) {
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  Random random(9);
  for (const TensorSlot& slot : layout.tensors) {
    // No wider: where a tanh is at its end, 1 - y^2 of a float has no digits left.
    const double inputs = static_cast<double>(slot.count) / slot.shape.back();
    const double scale = slot.shape.size() > 1 ? 1.0 / std::sqrt(inputs) : 0.4;
    for (std::size_t i = 0; i < slot.count; ++i)
      parameters[slot.offset + i] = slot.section == Section::kStatistics
                                        ? 0.5f + random.Uniform()
                                        : static_cast<float>(scale * random.Normal());
  }
  return parameters;
}

NetworkReference::NetworkReference(const ModelSpec& spec, const std::vector<float>& parameters)
    : spec_(spec),
      layout_(spec),
      observation_(StackedObservation(spec)),
      policy_(*PlanNetwork(spec, "policy")),
      critic_(*PlanNetwork(spec, "value")),
      parameters_(parameters.begin(), parameters.end()) {}

const double* NetworkReference::Find(const std::string& name) const {
  return parameters_.data() + layout_.Find(name).offset;
}

NetworkReference::Row NetworkReference::Input(const PlannedInput& planned,
                                              const std::byte* row) const {
  const ObservationInput& input = observation_.inputs()[planned.input];
  const std::byte* const at = row + input.offset_bytes;
  Row x;
  for (int j = 0; j < input.elements; ++j) {
    std::int32_t word = 0;
    if (input.element != Element::kUint8) std::memcpy(&word, at + 4 * j, 4);
    if (input.element == Element::kUint8) {
      x.push_back(static_cast<int>(at[j]) / 255.0);
    } else if (input.element == Element::kFloat32) {
      x.push_back(std::bit_cast<float>(word));
    } else {
      for (int k = 0; k < input.categories[j]; ++k) x.push_back(k == word ? 1.0 : 0.0);
    }
  }
  if (input.element != Element::kFloat32 || !spec_.normalize_observation) return x;
  int before = 0;  // numbers of the inputs before it, of one frame
  for (const PlannedInput& other : policy_.inputs)
    if (other.input < planned.input &&
        observation_.inputs()[other.input].element == Element::kFloat32)
      before += static_cast<int>(other.in.count()) / other.stack;
  const double* const mean = Find("statistics.observation.mean");
  const double* const variance = Find("statistics.observation.variance");
  const int stacked = input.shape.back(), channels = stacked / planned.stack;
  for (int j = 0; j < input.elements; ++j) {
    const int at_frame = before + j / stacked * channels + j % stacked % channels;
    x[j] = std::clamp((x[j] - mean[at_frame]) / std::sqrt(variance[at_frame] + 1e-8), -10.0, 10.0);
  }
  return x;
}

NetworkReference::Row NetworkReference::Dense(const std::string& name, const Row& x) const {
  const int outputs = layout_.Find(name + ".weight").shape[1];
  const double* const bias = Find(name + ".bias");
  Row y(bias, bias + outputs);
  AddProduct(x, Find(name + ".weight"), outputs, 0, outputs, y.data());
  return y;
}

NetworkReference::Row NetworkReference::Conv(const PlannedLayer& p, const Row& x) const {
  const double* const w = Find(p.name + ".weight");
  const double* const bias = Find(p.name + ".bias");
  const int k = p.layer.kernel;
  Row y;
  for (int oy = 0; oy < p.out.height; ++oy)
    for (int ox = 0; ox < p.out.width; ++ox)
      for (int f = 0; f < p.out.channels; ++f) {
        double sum = bias[f];
        for (int ky = 0; ky < k; ++ky)
          for (int kx = 0; kx < k; ++kx) {
            const int iy = oy * p.layer.stride + ky - p.layer.padding;
            const int ix = ox * p.layer.stride + kx - p.layer.padding;
            if (iy < 0 || ix < 0 || iy >= p.in.height || ix >= p.in.width) continue;
            for (int c = 0; c < p.in.channels; ++c)
              sum += x[(iy * p.in.width + ix) * p.in.channels + c] *
                     w[((ky * k + kx) * p.in.channels + c) * p.out.channels + f];
          }
        y.push_back(sum);
      }
  return y;
}

NetworkReference::Row NetworkReference::MaxPool(const PlannedLayer& p, const Row& x) const {
  Row y;
  for (int oy = 0; oy < p.out.height; ++oy)
    for (int ox = 0; ox < p.out.width; ++ox)
      for (int c = 0; c < p.in.channels; ++c) {
        double most = -std::numeric_limits<double>::infinity();
        for (int ky = 0; ky < p.layer.kernel; ++ky)
          for (int kx = 0; kx < p.layer.kernel; ++kx) {
            const int iy = oy * p.layer.stride + ky - p.layer.padding;
            const int ix = ox * p.layer.stride + kx - p.layer.padding;
            if (iy < 0 || ix < 0 || iy >= p.in.height || ix >= p.in.width) continue;
            most = std::max(most, x[(iy * p.in.width + ix) * p.in.channels + c]);
          }
        y.push_back(most);
      }
  return y;
}

NetworkReference::Row NetworkReference::LayerNorm(const PlannedLayer& p, const Row& x) const {
  const double* const gain = Find(p.name + ".gain");
  const double* const shift = Find(p.name + ".shift");
  const std::size_t n = p.in.channels;
  Row y(x.size());
  for (std::size_t at = 0; at < x.size(); at += n) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[at + i] / n;
    for (std::size_t i = 0; i < n; ++i) variance += (x[at + i] - mean) * (x[at + i] - mean) / n;
    for (std::size_t i = 0; i < n; ++i)
      y[at + i] = (x[at + i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + shift[i];
  }
  return y;
}

NetworkReference::Row NetworkReference::Lstm(const PlannedLayer& p, const Row& x,
                                             double* state) const {
  const int n = p.layer.units;
  const double* const bias = Find(p.name + ".bias");
  Row sums(bias, bias + 4 * n), h(state, state + n);
  AddProduct(x, Find(p.name + ".input_weight"), 4 * n, 0, 4 * n, sums.data());
  AddProduct(h, Find(p.name + ".hidden_weight"), 4 * n, 0, 4 * n, sums.data());
  for (int i = 0; i < n; ++i) {
    double& c = state[n + i];
    c = Sigmoid(sums[n + i]) * c + Sigmoid(sums[i]) * std::tanh(sums[2 * n + i]);
    h[i] = state[i] = Sigmoid(sums[3 * n + i]) * std::tanh(c);
  }
  return h;
}

NetworkReference::Row NetworkReference::Gru(const PlannedLayer& p, const Row& x,
                                            double* state) const {
  const int n = p.layer.units;
  const double* const bias = Find(p.name + ".bias");
  const double* const hidden_bias = Find(p.name + ".hidden_bias");
  Row sums(bias, bias + 3 * n), h(state, state + n), inside(hidden_bias, hidden_bias + n);
  AddProduct(x, Find(p.name + ".input_weight"), 3 * n, 0, 3 * n, sums.data());
  AddProduct(h, Find(p.name + ".hidden_weight"), 3 * n, 0, 2 * n, sums.data());
  AddProduct(h, Find(p.name + ".hidden_weight"), 3 * n, 2 * n, 3 * n, inside.data());
  for (int i = 0; i < n; ++i) {
    const double z = Sigmoid(sums[n + i]);
    const double candidate = std::tanh(sums[2 * n + i] + Sigmoid(sums[i]) * inside[i]);
    h[i] = state[i] = (1 - z) * candidate + z * state[i];
  }
  return h;
}

NetworkReference::Row NetworkReference::Layers(const std::vector<PlannedLayer>& layers, Row x,
                                               double* state) const {
  Row around;
  for (const PlannedLayer& p : layers) {
    switch (p.layer.kind) {
      case Layer::Kind::kDense:
        x = Dense(p.name, x);
        break;
      case Layer::Kind::kConv:
        x = Conv(p, x);
        break;
      case Layer::Kind::kMaxPool:
        x = MaxPool(p, x);
        break;
      case Layer::Kind::kLayerNorm:
        x = LayerNorm(p, x);
        break;
      case Layer::Kind::kResidual:
        around = x;
        break;
      case Layer::Kind::kAdd:
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += around[i];
        break;
      case Layer::Kind::kLstm:
        x = Lstm(p, x, state);
        state += 2 * p.layer.units;
        break;
      case Layer::Kind::kGru:
        x = Gru(p, x, state);
        state += p.layer.units;
        break;
      default:
        break;
    }
    for (double& v : x) v = Activate(p.layer.activation, v);
  }
  return x;
}

NetworkReference::Row NetworkReference::Features(const NetworkPlan& plan, const std::byte* row,
                                                 double* state) const {
  Row joined;
  for (const PlannedInput& input : plan.inputs) {
    const Row features = Layers(input.layers, Input(input, row), nullptr);
    joined.insert(joined.end(), features.begin(), features.end());
  }
  return Layers(plan.trunk, joined, state);
}

NetworkReference::Outputs NetworkReference::Evaluate(const std::vector<std::uint32_t>& rows,
                                                     int steps, int count,
                                                     const std::vector<std::uint8_t>& first,
                                                     const std::vector<float>& state0) const {
  Outputs outputs;
  outputs.state.assign(state0.begin(), state0.end());
  const auto* row = reinterpret_cast<const std::byte*>(rows.data());
  for (int i = 0; i < steps * count; ++i, row += observation_.row_bytes()) {
    double* const state = outputs.state.data() + i % count * policy_.state_floats;
    if (first[i] != 0) std::fill_n(state, policy_.state_floats, 0.0);
    const Row features = Features(policy_, row, state);
    const Row logits = Dense("policy.head", features);
    outputs.logits.insert(outputs.logits.end(), logits.begin(), logits.end());
    outputs.values.push_back(Dense("value.head", spec_.Find("value")->shares.empty()
                                                     ? Features(critic_, row, nullptr)
                                                     : features)[0]);
  }
  return outputs;
}

}  // namespace murmurate
