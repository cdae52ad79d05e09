// Models nobody thought of: random inputs, layers and actions. What the text form takes must run,
// the same on the client, on the learner and in the reference, and have the gradient of its
// outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "server/network/actor_critic.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

class ModelWriter {
 public:
  explicit ModelWriter(std::uint64_t seed) : random_(seed) {}

  std::string Write() {
    const int inputs = Number(1, 3);
    std::string spaces, encoders;
    for (int i = 0; i < inputs; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      spaces += "observation" + (inputs == 1 ? "" : "." + name) + " " + InputSpace() + "\n";
      const bool stacks = !categories_ && Chance(4);
      if (!picture_ && !stacks && Chance(2)) continue;
      encoders += "input " + (inputs == 1 ? "-" : name) + " stack " +
                  std::to_string(stacks ? Number(2, 4) : 1) + "\n" +
                  (picture_ ? PictureLayers() : VectorLayers(false));
    }
    return spaces + ActionSpace() + encoders + "trunk\n" + VectorLayers(true) + "separate_value " +
           Digit() + "\nnormalize_observation " + Digit() + "\n" +
           (continuous_ ? "state_dependent_deviation " + Digit() + "\nsquashed " + Digit() + "\n"
                        : "");
  }

 private:
  int Number(int low, int high) {
    return low + static_cast<int>(random_.UniformInt(static_cast<std::uint32_t>(high - low + 1)));
  }
  bool Chance(int in) { return Number(1, in) == 1; }
  std::string Digit() { return Chance(2) ? "0" : "1"; }
  std::string Word(int low, int high) { return " " + std::to_string(Number(low, high)); }
  std::string Activate() {
    constexpr const char* kNames[] = {"none", "tanh", "elu", "sigmoid"};  // relu has corners
    return kNames[Number(0, 3)];
  }

  std::string InputSpace() {
    picture_ = Chance(2);
    categories_ = !picture_ && Chance(3);
    if (picture_) {
      return std::string(Chance(2) ? "uint8" : "float32") + Word(1, 9) + Word(1, 9) + Word(1, 3);
    }
    if (categories_ && Chance(2)) return "binary" + Word(1, 5);
    std::string text = categories_ ? "categories" : "float32";
    for (int i = Number(1, categories_ ? 3 : 1); i > 0; --i) text += Word(2, 9);
    return text;
  }

  std::string ActionSpace() {
    constexpr const char* kParts[] = {"discrete 3", "discrete 2 4 2", "binary 3",
                                      "continuous 2 low -1 -1 high 1 2"};
    const int parts = Number(1, 3);
    std::string text;
    for (int i = 0; i < parts; ++i) {
      const int kind = Number(0, 3);
      continuous_ |= kind == 3;
      text += parts == 1 ? "action " : "action." + std::string(1, static_cast<char>('p' + i)) + " ";
      text += std::string(kParts[kind]) + "\n";
    }
    return text;
  }

  std::string Conv(int filters, int kernel, int padding) {
    return "conv " + std::to_string(filters) + " " + std::to_string(kernel) + " 1 " +
           std::to_string(padding) + " " + Activate() + "\n";
  }

  std::string PictureLayers() {
    std::string text;
    for (int i = Number(0, 3); i > 0; --i) {
      const int kind = Number(0, 4), filters = Number(1, 20);
      if (kind == 0) text += "conv" + Word(1, 9) + Word(1, 4) + Word(1, 3) + Word(0, 2) + " tanh\n";
      if (kind == 1) text += "max_pool" + Word(1, 3) + Word(1, 2) + Word(0, 1) + "\n";
      if (kind == 2) text += "layer_norm\n";
      if (kind == 3) text += Activate() + "\n";
      if (kind != 4) continue;
      text +=
          Conv(filters, 3, 1) + "residual\n" + Conv(filters, 3, 1) + Conv(filters, 1, 0) + "add\n";
    }
    return text + "flatten\n";
  }

  std::string VectorLayers(bool may_recur) {
    std::string text;
    for (int i = Number(0, 3); i > 0; --i) {
      const int kind = Number(0, may_recur ? 5 : 3);
      if (kind == 0) text += "dense" + Word(1, 40) + " " + Activate() + "\n";
      if (kind == 1) text += "layer_norm\n";
      if (kind == 2) text += Activate() + "\n";
      if (kind == 3) text += "dense 7 tanh\nresidual\ndense 7 elu\nadd\n";
      if (kind >= 4) text += (kind == 4 ? "lstm" : "gru") + Word(1, 20) + "\n";
    }
    return text;
  }

  Random random_;
  bool picture_ = false, categories_ = false, continuous_ = false;
};

std::vector<float> Normals(std::size_t count, Random* random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random->Normal());
  return values;
}

double Dot(const std::vector<float>& weights, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i];
  return sum;
}

void ExpectNear(std::span<const float> got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 5e-5 + 5e-5 * std::abs(expected[i])) << i;
  }
}

constexpr int kSteps = 3, kCount = 4, kRows = kSteps * kCount;

/// One model's pass over three steps of four sequences.
struct Pass {
  explicit Pass(const ModelSpec& of)
      : spec(of),
        network(spec, kRows),
        parameters(RandomParameters(spec)),
        rows(RandomRows(spec, kRows, 5)),
        first(kRows),
        random(3),
        state0(Normals(static_cast<std::size_t>(kCount) * network.state_floats(), &random)),
        logits(static_cast<std::size_t>(kRows) * network.outputs()),
        values(kRows),
        gradient(network.layout().trained_count()) {
    first[6] = first[9] = 1;
  }

  /// Outputs of the learner against the reference, and its gradient along one direction.
  void CheckLearner() {
    const Sequences sequences{kSteps, kCount, first.data(), state0.data(), nullptr};
    network.Forward(parameters, rows.data(), kRows, logits.data(), values.data(), &sequences);
    NetworkReference reference(spec, parameters);
    const auto expected = reference.Evaluate(rows, kSteps, kCount, first, state0);
    ExpectNear(logits, expected.logits);
    ExpectNear(values, expected.values);
    const auto d_logits = Normals(logits.size(), &random), d_values = Normals(kRows, &random);
    network.Backward(parameters, d_logits.data(), d_values.data(), gradient);
    const auto direction = Normals(gradient.size(), &random);
    double along = 0, size = 1;
    for (const TensorSlot& slot : network.layout().tensors) {
      for (std::size_t i = slot.offset; i < slot.offset + slot.count; ++i) {
        if (i < gradient.size()) along += double{gradient[i]} * direction[i];
        if (i < gradient.size()) size += std::abs(double{gradient[i]} * direction[i]);
      }
    }
    constexpr double kStep = 1e-6;
    double loss[2];
    for (const int side : {0, 1}) {
      NetworkReference moved(spec, parameters);
      for (std::size_t i = 0; i < direction.size(); ++i) {
        moved.parameters()[i] += (side == 0 ? kStep : -kStep) * direction[i];
      }
      const auto outputs = moved.Evaluate(rows, kSteps, kCount, first, state0);
      loss[side] = Dot(d_logits, outputs.logits) + Dot(d_values, outputs.values);
    }
    EXPECT_NEAR(along, (loss[0] - loss[1]) / (2 * kStep), 2e-4 * size);
  }

  /// What comes back is what was packed; and in pieces it is packed as at once.
  void CheckUnpacked(const Policy& policy) {
    const ParameterLayout& layout = network.layout();
    const std::size_t count = layout.published.count, all = count + layout.statistics.count;
    std::vector<float> back(all), again(all);
    policy.Unpack(std::span(back).first(count), std::span(back).subspan(count));
    const auto at = parameters.begin();
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(count),
                           at + static_cast<std::ptrdiff_t>(layout.published.offset)));
    EXPECT_TRUE(std::equal(back.begin() + static_cast<std::ptrdiff_t>(count), back.end(),
                           at + static_cast<std::ptrdiff_t>(layout.statistics.offset)));
    Policy pieces(spec);
    for (std::size_t done = 0; done < all;) {
      const std::size_t piece = std::min<std::size_t>(1 + random.UniformInt(100), all - done);
      pieces.PackPart(done, std::span(back).subspan(done, piece));
      done += piece;
    }
    pieces.Unpack(std::span(again).first(count), std::span(again).subspan(count));
    EXPECT_EQ(again, back);
  }

  /// The client's policy, step by step.
  void CheckPolicy() {
    const ParameterLayout& layout = network.layout();
    const std::span<const float> flat = parameters;
    Policy policy(spec);
    policy.Pack(flat.subspan(layout.published.offset, layout.published.count),
                flat.subspan(layout.statistics.offset, layout.statistics.count));
    CheckUnpacked(policy);
    const std::size_t words = rows.size() / kRows, outputs = logits.size() / kRows;
    const std::size_t width = state0.size() / kCount;
    std::vector<float> state = state0, got(kCount * outputs);
    std::vector<float> scratch(policy.ScratchFloats(kCount));
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kCount; ++i) {
        if (first[step * kCount + i]) std::fill_n(state.begin() + i * width, width, 0.0f);
      }
      policy.Forward(rows.data() + step * kCount * words, kCount, got.data(), scratch.data(),
                     state.data());
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], logits[step * kCount * outputs + i], 2e-5) << i;
      }
    }
  }

  const ModelSpec spec;
  ActorCritic network;
  std::vector<float> parameters;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> first;
  Random random;
  std::vector<float> state0, logits, values, gradient;
};

TEST(RandomModels, WhatIsTakenRunsAlikeEverywhereAndHasItsGradient) {
  int taken = 0, recurrent = 0, pictures = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = "murmurate-model 1\n" + ModelWriter(seed).Write();
    const auto spec = ModelSpec::Parse(text);
    if (!spec.ok()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    ++taken;
    EXPECT_EQ(*ModelSpec::Parse(spec->ToText()), *spec);
    recurrent += text.find("lstm") != text.npos || text.find("gru") != text.npos;
    pictures += text.find("conv") != text.npos;
    Pass pass(*spec);
    pass.CheckLearner();
    pass.CheckPolicy();
    if (HasFailure()) return;
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(recurrent, 20);
  EXPECT_GT(pictures, 20);
}

}  // namespace
}  // namespace murmurate
