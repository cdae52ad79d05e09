// Policies of every kind of layer against a plain double-precision evaluation of the plan.
#include "shared/inference/policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

using Kind = Layer::Kind;
using Numbers = std::vector<double>;

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}
double Sigmoid(double x) { return Activate(Activation::kSigmoid, x); }

/// One row through the plan, layer by layer, as the headers define the layers.
class Reference {
 public:
  Reference(const ModelSpec& spec, const AlignedFloats& parameters)
      : spec_(spec), plan_(*PlanNetwork(spec, "policy")), layout_(spec), parameters_(parameters) {}

  Numbers Outputs(const std::byte* row, Numbers* state) {
    state_ = state->begin();
    const ObservationLayout observation(StackedObservation(spec_));
    Numbers joined;
    int first_mean = 0;
    for (const PlannedInput& input : plan_.inputs) {
      Numbers x = Input(observation.inputs()[input.input], row, input.stack, &first_mean);
      x = Through(input.layers, x);
      joined.insert(joined.end(), x.begin(), x.end());
    }
    return Dense("policy.head", Through(plan_.trunk, joined), Activation::kNone);
  }

 private:
  const float* Find(const std::string& name) const {
    return parameters_.data() + layout_.Find(name).offset;
  }

  Numbers Input(const ObservationInput& input, const std::byte* row, int stack, int* first_mean) {
    Numbers x;
    const std::byte* from = row + input.offset_bytes;
    const int channels = input.shape.empty() ? 1 : input.shape.back();
    for (int i = 0; i < input.elements; ++i) {
      if (input.element == ObservationInput::Element::kUint8) {
        x.push_back(std::to_integer<int>(from[i]) / 255.0);
      } else if (input.element == ObservationInput::Element::kInt32) {
        std::int32_t category;
        std::memcpy(&category, from + 4 * i, 4);
        for (int c = 0; c < input.categories[i]; ++c) x.push_back(c == category);
      } else {
        float number;
        std::memcpy(&number, from + 4 * i, 4);
        x.push_back(number);
        if (!spec_.normalize_observation) continue;
        const int frame = channels / stack;
        const int s = *first_mean + i / channels * frame + i % frame;
        const double mean = Find("statistics.observation.mean")[s];
        const double variance = Find("statistics.observation.variance")[s];
        x.back() = std::clamp((x.back() - mean) / std::sqrt(variance + 1e-8), -10.0, 10.0);
      }
    }
    if (input.element == ObservationInput::Element::kFloat32) *first_mean += input.elements / stack;
    return x;
  }

  Numbers Dense(const std::string& name, const Numbers& x, Activation activation) const {
    const TensorSlot& slot = layout_.Find(name + ".weight");
    const float *weight = Find(name + ".weight"), *bias = Find(name + ".bias");
    Numbers y;
    for (int j = 0; j < slot.shape[1]; ++j) {
      double sum = bias[j];
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * weight[i * slot.shape[1] + j];
      y.push_back(Activate(activation, sum));
    }
    return y;
  }

  /// Every window of a picture: visit(output place, input place, place in the window).
  template <typename Visit>
  void Windows(const PlannedLayer& layer, Visit visit) const {
    const Layer& l = layer.layer;
    for (int oy = 0; oy < layer.out.height; ++oy)
      for (int ox = 0; ox < layer.out.width; ++ox)
        for (int ky = 0; ky < l.kernel; ++ky)
          for (int kx = 0; kx < l.kernel; ++kx) {
            const int y = oy * l.stride + ky - l.padding, x = ox * l.stride + kx - l.padding;
            if (y < 0 || x < 0 || y >= layer.in.height || x >= layer.in.width) continue;
            visit(oy * layer.out.width + ox, y * layer.in.width + x, ky * l.kernel + kx);
          }
  }
  Numbers Conv(const PlannedLayer& layer, const Numbers& x) const {
    const float *weight = Find(layer.name + ".weight"), *bias = Find(layer.name + ".bias");
    const int in = layer.in.channels, out = layer.out.channels;
    Numbers y(static_cast<std::size_t>(layer.out.count()));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = bias[i % out];
    Windows(layer, [&](int to, int from, int k) {
      for (int c = 0; c < in; ++c)
        for (int f = 0; f < out; ++f)
          y[to * out + f] += x[from * in + c] * weight[(k * in + c) * out + f];
    });
    for (double& number : y) number = Activate(layer.layer.activation, number);
    return y;
  }
  Numbers Pool(const PlannedLayer& layer, const Numbers& x) const {
    const int channels = layer.in.channels;
    Numbers y(static_cast<std::size_t>(layer.out.count()), -std::numeric_limits<double>::max());
    Windows(layer, [&](int to, int from, int) {
      for (int c = 0; c < channels; ++c)
        y[to * channels + c] = std::max(y[to * channels + c], x[from * channels + c]);
    });
    return y;
  }
  Numbers Norm(const PlannedLayer& layer, Numbers x) const {
    const float *gain = Find(layer.name + ".gain"), *shift = Find(layer.name + ".shift");
    const std::size_t n = static_cast<std::size_t>(layer.in.channels);
    for (std::size_t first = 0; first < x.size(); first += n) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < n; ++i) mean += x[first + i] / n;
      for (std::size_t i = 0; i < n; ++i) variance += std::pow(x[first + i] - mean, 2) / n;
      for (std::size_t i = 0; i < n; ++i)
        x[first + i] = (x[first + i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + shift[i];
    }
    return x;
  }
  /// x input_weight + bias, and h hidden_weight apart.
  std::pair<Numbers, Numbers> Gates(const PlannedLayer& layer, const Numbers& x, const double* h,
                                    int gates) const {
    const int width = gates * layer.layer.units;
    const float *in = Find(layer.name + ".input_weight"), *bias = Find(layer.name + ".bias");
    const float* hidden = Find(layer.name + ".hidden_weight");
    Numbers a(static_cast<std::size_t>(width)), b(a.size());
    for (int j = 0; j < width; ++j) {
      a[j] = bias[j];
      for (std::size_t i = 0; i < x.size(); ++i) a[j] += x[i] * in[i * width + j];
      for (int i = 0; i < layer.layer.units; ++i) b[j] += h[i] * hidden[i * width + j];
    }
    return {a, b};
  }
  Numbers Recur(const PlannedLayer& layer, const Numbers& x) {
    const int n = layer.layer.units;
    double* h = &*state_;
    Numbers next(static_cast<std::size_t>(n));
    if (layer.layer.kind == Kind::kLstm) {
      state_ += 2 * n;
      const auto [a, b] = Gates(layer, x, h, 4);
      for (int j = 0; j < n; ++j) {
        const auto z = [&, &a = a, &b = b](int gate) { return a[gate * n + j] + b[gate * n + j]; };
        double& c = h[n + j];
        c = Sigmoid(z(1)) * c + Sigmoid(z(0)) * std::tanh(z(2));
        next[j] = Sigmoid(z(3)) * std::tanh(c);
      }
    } else {
      state_ += n;
      const float* hidden_bias = Find(layer.name + ".hidden_bias");
      const auto [a, b] = Gates(layer, x, h, 3);
      for (int j = 0; j < n; ++j) {
        const double r = Sigmoid(a[j] + b[j]), z = Sigmoid(a[n + j] + b[n + j]);
        const double candidate = std::tanh(a[2 * n + j] + r * (b[2 * n + j] + hidden_bias[j]));
        next[j] = (1 - z) * candidate + z * h[j];
      }
    }
    std::copy(next.begin(), next.end(), h);
    return next;
  }

  Numbers Through(const std::vector<PlannedLayer>& layers, Numbers x) {
    Numbers kept;
    for (const PlannedLayer& layer : layers) {
      const Layer& l = layer.layer;
      if (l.kind == Kind::kDense) x = Dense(layer.name, x, l.activation);
      if (l.kind == Kind::kConv) x = Conv(layer, x);
      if (l.kind == Kind::kMaxPool) x = Pool(layer, x);
      if (l.kind == Kind::kLayerNorm) x = Norm(layer, x);
      if (l.kind == Kind::kActivation)
        for (double& number : x) number = Activate(l.activation, number);
      if (l.kind == Kind::kResidual) kept = x;
      if (l.kind == Kind::kAdd)
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += kept[i];
      if (l.recurrent()) x = Recur(layer, x);
    }
    return x;
  }

  const ModelSpec spec_;
  const NetworkPlan plan_;
  const ParameterLayout layout_;
  const AlignedFloats& parameters_;
  Numbers::iterator state_;
};

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

struct Case {
  const char* name;
  PolicyAndValue spec;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  const Space camera = Image({17, 13, 1});
  PolicyAndValue dense{{Box({5}), Discrete(3)},
                       Layers({"dense 7 elu", "layer_norm", "dense 130 sigmoid"})};
  dense.normalize_observation = true;
  PolicyAndValue wide{{Box({300}), MultiDiscrete({2, 5})},
                      Layers({"dense 500 relu", "dense 9 tanh"})};
  PolicyAndValue pixels{{camera, Discrete(6)}, Layers({"dense 33 relu"})};
  pixels.encoders = {
      {"", 4, Layers({"conv 8 5 2 1 relu", "max_pool 3 2 1", "conv 20 2 1 0 elu", "flatten"})}};
  PolicyAndValue bytes{{camera, Discrete(2)}, Layers({"dense 3 relu"})};
  PolicyAndValue impala{{camera, Discrete(2)}, Layers({"relu", "dense 16 relu"})};
  impala.encoders = {{"", 1,
                      Layers({"conv 6 3 1 1 none", "max_pool 3 2 1", "residual", "relu",
                              "conv 6 3 1 1 relu", "conv 6 3 1 1 none", "add", "flatten"})}};
  PolicyAndValue parts{{Dict({{"place", Box({3})},
                              {"camera", camera},
                              {"kind", MultiDiscrete({4, 3})},
                              {"map", Box({4, 5, 2})}}),
                        Dict({{"move", Discrete(3)}, {"turn", Box({2}, -1.0f, 1.0f)}})},
                       Layers({"dense 24 tanh", "lstm 11", "gru 5"})};
  parts.encoders = {{"camera", 2, Layers({"conv 4 3 2 0 relu", "flatten"})},
                    {"place", 3, Layers({"residual", "relu", "add"})},
                    {"map", 1, Layers({"conv 3 3 1 1 tanh", "flatten", "layer_norm"})}};
  parts.normalize_observation = true;
  parts.separate_value = false;
  PolicyAndValue lstm{{Box({4}), Discrete(2)}, Layers({"lstm 40", "dense 8 tanh"})};
  lstm.separate_value = false;
  PolicyAndValue flat{{Box({6}), MultiBinary(3)}, {}};
  PolicyAndValue privileged{{Box({6}), Discrete(3), Dict({{"map", camera}, {"state", Box({5})}})},
                            Layers({"layer_norm", "dense 9 tanh"})};
  privileged.normalize_observation = true;
  return {{"dense", dense}, {"wide", wide},     {"pixels", pixels},
          {"bytes", bytes}, {"impala", impala}, {"parts", parts},
          {"lstm", lstm},   {"flat", flat},     {"privileged", privileged}};
}

class PolicyTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kRows = 70;

  PolicyTest() : spec_(GetParam().spec), layout_(spec_), policy_(spec_) {
    EXPECT_TRUE(CheckModel(spec_).ok()) << CheckModel(spec_);
    Random random(7);
    parameters_ = AlignedFloats(layout_.total);
    for (float& p : parameters_) p = static_cast<float>(random.Normal()) * 0.3f;
    if (spec_.normalize_observation) {
      const TensorSlot& variance = layout_.Find("statistics.observation.variance");
      for (std::size_t i = 0; i < variance.count; ++i)
        parameters_[variance.offset + i] = 0.5f + random.Uniform();
    }
    policy_.Pack({parameters_.data(), layout_.published.count},
                 {parameters_.data() + layout_.statistics.offset, layout_.statistics.count});
    const ObservationLayout observation(StackedObservation(spec_));
    row_bytes_ = observation.row_bytes();
    rows_.resize(kRows * row_bytes_);
    for (int r = 0; r < kRows; ++r) FillRow(observation, rows_.data() + r * row_bytes_, &random);
    scratch_ = AlignedFloats(policy_.ScratchFloats(kRows));
  }

  static void FillRow(const ObservationLayout& layout, std::byte* row, Random* random) {
    for (const ObservationInput& input : layout.inputs()) {
      for (int i = 0; i < input.elements; ++i) {
        std::byte* to = row + input.offset_bytes;
        if (input.element == ObservationInput::Element::kUint8) {
          to[i] = std::byte(random->UniformInt(256));
        } else if (input.element == ObservationInput::Element::kInt32) {
          const auto category = static_cast<std::int32_t>(random->UniformInt(input.categories[i]));
          std::memcpy(to + 4 * i, &category, 4);
        } else {
          const float number = static_cast<float>(random->Normal());
          std::memcpy(to + 4 * i, &number, 4);
        }
      }
    }
  }

  /// Outputs of all rows, `batch` at a time; states begin as given and are left as they became.
  std::vector<float> Run(int batch, std::vector<float>* states) {
    std::vector<float> outputs(static_cast<std::size_t>(kRows) * policy_.outputs(), NAN);
    std::fill(scratch_.begin(), scratch_.end(), NAN);
    for (int row = 0; row < kRows; row += batch) {
      policy_.Forward(rows_.data() + row * row_bytes_, std::min(batch, kRows - row),
                      outputs.data() + row * policy_.outputs(), scratch_.data(),
                      states->empty() ? nullptr : states->data() + row * policy_.state_floats());
    }
    return outputs;
  }

  const ModelSpec spec_;
  const ParameterLayout layout_;
  Policy policy_;
  AlignedFloats parameters_, scratch_;
  std::size_t row_bytes_ = 0;
  std::vector<std::byte> rows_;
};

TEST_P(PolicyTest, GivesWhatThePlanSaysForAnyNumberOfRows) {
  Reference reference(spec_, parameters_);
  for (const int batch : {1, 3, kRows}) {
    std::vector<float> states(static_cast<std::size_t>(kRows) * policy_.state_floats(), 0.0f);
    std::vector<Numbers> expected_states(kRows, Numbers(policy_.state_floats()));
    for (int step = 0; step < 3; ++step) {  // the second step begins where the first left off
      const std::vector<float> outputs = Run(batch, &states);
      for (int row = 0; row < kRows; ++row) {
        const Numbers expected =
            reference.Outputs(rows_.data() + row * row_bytes_, &expected_states[row]);
        for (int j = 0; j < policy_.outputs(); ++j) {
          ASSERT_NEAR(outputs[row * policy_.outputs() + j], expected[j],
                      2e-4 * (1 + std::abs(expected[j])))
              << "batch " << batch << " step " << step << " row " << row << " output " << j;
        }
        for (int j = 0; j < policy_.state_floats(); ++j)
          ASSERT_NEAR(states[row * policy_.state_floats() + j], expected_states[row][j], 1e-4);
      }
      if (policy_.state_floats() == 0) break;
    }
  }
}

TEST_P(PolicyTest, AllocatesNothing) {
  std::vector<float> states(static_cast<std::size_t>(kRows) * policy_.state_floats(), 0.0f);
  std::vector<float> outputs(static_cast<std::size_t>(kRows) * policy_.outputs());
  const std::uint64_t before = Allocations();
  policy_.Forward(rows_.data(), kRows, outputs.data(), scratch_.data(), states.data());
  policy_.Forward(rows_.data(), 1, outputs.data(), scratch_.data(), states.data());
  EXPECT_EQ(Allocations(), before);
}

TEST_P(PolicyTest, FreeDeviationsAreThoseOfTheParameters) {
  const ActionLayout action(spec_.spaces.action, spec_.continuous);
  ASSERT_EQ(policy_.log_deviations() != nullptr, action.free_deviations() > 0);
  for (int i = 0; i < action.free_deviations(); ++i)
    EXPECT_EQ(policy_.log_deviations()[i],
              parameters_[layout_.Find("policy.log_deviation").offset + i]);
}

INSTANTIATE_TEST_SUITE_P(Models, PolicyTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace murmurate
