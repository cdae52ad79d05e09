// Convolutional and recurrent layers against this machine: the Nature-CNN (Mnih et al. 2015)
// forward for one observation and as a training step of 256, an LSTM's step and its backpropagation
// through 20 steps, on one thread; whole training steps of actor-critics on two.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/actor_critic_step.h"
#include "bench/read_bandwidth.h"
#include "server/compute/convolution_gradient.h"
#include "server/compute/gemm.h"
#include "server/compute/recurrent_sequence.h"
#include "server/compute/vector_math.h"
#include "server/measure/limits.h"
#include "shared/compute/packed_weight.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

AlignedFloats Normals(std::size_t count, float scale) {
  static Random random(1);
  AlignedFloats values(count);
  for (float& value : values) value = scale * static_cast<float>(random.Normal());
  return values;
}

struct ConvLayer {
  Window window;
  int filters;
  AlignedFloats weight, bias, output, d_sums, d_weight, d_bias;

  ConvLayer(const Window& w, int count, int images)
      : window(w),
        filters(count),
        weight(Normals(depth() * count, 0.05f)),
        bias(Normals(count, 0.1f)),
        output(outputs() * images),
        d_sums(outputs() * images),
        d_weight(depth() * count),
        d_bias(count) {}
  int depth() const { return window.kernel.height * window.kernel.width * window.channels; }
  std::size_t positions() const {
    return static_cast<std::size_t>(OutputExtent(window).height) * OutputExtent(window).width;
  }
  std::size_t outputs() const { return positions() * filters; }
  double flops() const { return 2.0 * positions() * depth() * filters; }
};

/// 84x84x4 bytes, convolutions 32 of 8x8/4, 64 of 4x4/2, 64 of 3x3/1, then 512 units; all relu.
class NatureCnn {
 public:
  static constexpr int kFlat = 7 * 7 * 64, kUnits = 512, kPicture = 84 * 84 * 4;

  explicit NatureCnn(int images) : images_(images) {
    layers_.emplace_back(Window{84, 84, 4, {8, 8}, {4, 4}, {0, 0}}, 32, images);
    layers_.emplace_back(Window{20, 20, 32, {4, 4}, {2, 2}, {0, 0}}, 64, images);
    layers_.emplace_back(Window{9, 9, 64, {3, 3}, {1, 1}, {0, 0}}, 64, images);
    pictures_.resize(static_cast<std::size_t>(images) * kPicture);
    Random random(2);
    for (std::uint8_t& byte : pictures_) byte = static_cast<std::uint8_t>(random.UniformInt(256));
    std::size_t scratch = 0;
    for (const ConvLayer& layer : layers_)
      scratch = std::max(scratch, ConvBackwardScratchFloats(layer.window, layer.filters, images));
    scratch_ = AlignedFloats(scratch);
    dense_ = Normals(kFlat * kUnits, 0.02f);
    packed_ = AlignedFloats(kFlat * kUnits);
    PackWeight(kFlat, kUnits, dense_.data(), packed_.data());
    dense_bias_ = Normals(kUnits, 0.1f);
    units_ = AlignedFloats(static_cast<std::size_t>(images) * kUnits);
    d_units_ = Normals(static_cast<std::size_t>(images) * kUnits, 0.1f);
  }

  void Forward(bool packed) {
    ForEachChunk([this](int first, int count) { ConvolveForward(first, count); });
    const GemmCall call = {.rows = images_,
                           .columns = kUnits,
                           .depth = kFlat,
                           .a = layers_.back().output.data(),
                           .a_row_stride = kFlat,
                           .b = packed ? packed_.data() : dense_.data(),
                           .b_row_stride = kUnits,
                           .c = units_.data(),
                           .c_row_stride = kUnits,
                           .bias = dense_bias_.data(),
                           .epilogue = Epilogue::kRelu};
    packed ? PackedGemm(call) : Gemm(call);
  }

  /// Everything that Backward and Step need beside what Forward does.
  void PrepareTraining() {
    turned_ = AlignedFloats(kFlat * kUnits);
    d_sums_ = AlignedFloats(d_units_.size());
    d_dense_ = AlignedFloats(kFlat * kUnits);
    d_dense_bias_ = AlignedFloats(kUnits);
    first_ = AlignedFloats(kFlat * kUnits);
    second_ = AlignedFloats(kFlat * kUnits);
  }

  void Train() {
    Forward(false);
    DenseBackward();
    for (ConvLayer& layer : layers_) {
      std::ranges::fill(layer.d_weight, 0.0f);
      std::ranges::fill(layer.d_bias, 0.0f);
    }
    ForEachChunk([this](int first, int count) { ConvolveBackward(first, count); });
    for (ConvLayer& layer : layers_) Step(layer.d_weight, layer.weight);
  }

  double forward_flops() const {
    double flops = 2.0 * kFlat * kUnits;
    for (const ConvLayer& layer : layers_) flops += layer.flops();
    return flops * images_;
  }
  /// Forward, gradients of all weights, and of all inputs but the pictures.
  double training_flops() const { return 3 * forward_flops() - layers_[0].flops() * images_; }
  std::size_t weight_bytes() const {
    std::size_t floats = kFlat * kUnits;
    for (const ConvLayer& layer : layers_) floats += layer.weight.size();
    return floats * sizeof(float);
  }

 private:
  /// Pictures that go through all convolutions together, so that what one wrote the next finds in
  /// the cache.
  template <typename Body>
  void ForEachChunk(const Body& body) {
    constexpr int kChunk = 16;
    for (int first = 0; first < images_; first += kChunk)
      body(first, std::min(kChunk, images_ - first));
  }

  const float* InputOf(std::size_t i, int first) const {
    return i == 0 ? nullptr : layers_[i - 1].output.data() + first * layers_[i - 1].outputs();
  }
  const std::uint8_t* BytesOf(std::size_t i, int first) const {
    return i == 0 ? pictures_.data() + std::ptrdiff_t{first} * kPicture : nullptr;
  }

  void ConvolveForward(int first, int count) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      ConvLayer& layer = layers_[i];
      ConvForward({layer.window, layer.filters, count, InputOf(i, first), BytesOf(i, first),
                   layer.weight.data(), layer.bias.data(), Epilogue::kRelu,
                   layer.output.data() + first * layer.outputs(), scratch_.data()});
    }
  }

  void ConvolveBackward(int first, int count) {
    for (std::size_t i = layers_.size(); i-- > 0;) {
      ConvLayer& layer = layers_[i];
      float* const below =
          i == 0 ? nullptr : layers_[i - 1].d_sums.data() + first * layers_[i - 1].outputs();
      ConvBackward({layer.window, layer.filters, count, InputOf(i, first), BytesOf(i, first),
                    layer.weight.data(), layer.d_sums.data() + first * layer.outputs(),
                    layer.d_weight.data(), layer.d_bias.data(), below, Epilogue::kReluGradient,
                    scratch_.data()});
    }
  }

  void DenseBackward() {
    const DenseKernels& kernels = BestKernels<DenseKernels>();
    std::ranges::copy(d_units_, d_sums_.begin());
    BestKernels<LayerKernels>().apply(Epilogue::kReluGradient, d_sums_.size(), units_.data(),
                                      d_sums_.data());
    std::ranges::fill(d_dense_, 0.0f);
    std::ranges::fill(d_dense_bias_, 0.0f);
    const ConvLayer& below = layers_.back();
    Gemm({.rows = kFlat,
          .columns = kUnits,
          .depth = images_,
          .a = below.output.data(),
          .a_row_stride = 1,
          .a_column_stride = kFlat,
          .b = d_sums_.data(),
          .b_row_stride = kUnits,
          .c = d_dense_.data(),
          .c_row_stride = kUnits,
          .accumulate = true});
    kernels.add_column_sums(images_, kUnits, d_sums_.data(), kUnits, d_dense_bias_.data());
    kernels.transpose(kFlat, kUnits, dense_.data(), turned_.data());
    Gemm({.rows = images_,
          .columns = kFlat,
          .depth = kUnits,
          .a = d_sums_.data(),
          .a_row_stride = kUnits,
          .b = turned_.data(),
          .b_row_stride = kFlat,
          .c = layers_.back().d_sums.data(),
          .c_row_stride = kFlat,
          .epilogue = Epilogue::kReluGradient,
          .output = below.output.data(),
          .output_row_stride = kFlat});
    Step(d_dense_, dense_);
  }

  /// The optimizer's share (the moments of the largest weight stand for all).
  void Step(const AlignedFloats& gradient, AlignedFloats& parameters) {
    const std::size_t count = parameters.size();
    const float scale = std::min(1.0f, 0.5f / (Norm(gradient) + 1e-6f));
    AdamStep({.learning_rate = 1e-7f}, 1, scale, gradient, std::span<float>(first_).first(count),
             std::span<float>(second_).first(count), parameters);
  }

  int images_;
  std::vector<ConvLayer> layers_;
  std::vector<std::uint8_t> pictures_;
  AlignedFloats scratch_, dense_, packed_, dense_bias_, units_, d_units_;
  AlignedFloats turned_, d_sums_, d_dense_, d_dense_bias_, first_, second_;
};

void MeasureForward() {
  NatureCnn network(1);
  double seconds = 1e9, peak = 0, bandwidth = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    bandwidth = std::max(bandwidth, MeasureReadBandwidth(network.weight_bytes()));
    seconds = std::min(seconds, SecondsPerCall([&] { network.Forward(true); }, 20, 2e-3));
  }
  std::printf("(FMA peak %.1f GFLOP/s, reading %.1f MB at %.1f GB/s)\n", peak * 1e-9,
              network.weight_bytes() * 1e-6, bandwidth * 1e-9);
  Print({.name = "Nature-CNN forward, batch 1",
         .unit = "us",
         .ours = seconds * 1e6,
         .limit = 1e6 * (network.forward_flops() / peak + network.weight_bytes() / bandwidth),
         .target = 1.25,
         .smaller_is_better = true});
}

void MeasureTraining(int images) {
  NatureCnn network(images);
  network.PrepareTraining();
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 3; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { network.Train(); }, 3, 1e-3));
  }
  Print({.name = "Nature-CNN training step, batch " + std::to_string(images) + ", " +
                 std::to_string(static_cast<int>(seconds * 1e3)) + " ms",
         .unit = "GFLOP/s",
         .ours = network.training_flops() / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = 0.6});
}

/// LSTM(64 -> 128), one agent.
class Lstm {
 public:
  static constexpr int kInputs = 64, kHidden = 128, kSteps = 20, kGates = 4 * kHidden;

  void Step() {
    RecurrentStep(kLstmCell,
                  {1, kInputs, kHidden, x_.data(), 0, packed_w_.data(), packed_u_.data(), true,
                   bias_.data(), nullptr, state_.data(), output_.data(), scratch_.data()});
  }
  void Learn() {
    std::ranges::fill(dw_, 0.0f);
    std::ranges::fill(du_, 0.0f);
    std::ranges::fill(db_, 0.0f);
    RecurrentForward(kLstmCell,
                     {kSteps, 1, kInputs, kHidden, x_.data(), first_.data(), nullptr, w_.data(),
                      u_.data(), bias_.data(), nullptr, output_.data(), nullptr, kept_});
    RecurrentBackward(kLstmCell,
                      {kSteps, 1, kInputs, kHidden, x_.data(), first_.data(), w_.data(), u_.data(),
                       kept_, d_output_.data(), nullptr, dx_.data(), dw_.data(), du_.data(),
                       db_.data(), nullptr, nullptr, scratch_.data()});
  }
  Lstm() {
    PackWeight(kInputs, kGates, w_.data(), packed_w_.data());
    PackWeight(kHidden, kGates, u_.data(), packed_u_.data());
  }
  static constexpr double kStepFlops = 2.0 * (kInputs + kHidden) * kGates;

 private:
  AlignedFloats x_ = Normals(kSteps * kInputs, 1), w_ = Normals(kInputs * kGates, 0.1f);
  AlignedFloats u_ = Normals(kHidden * kGates, 0.1f), bias_ = Normals(kGates, 0.1f);
  AlignedFloats packed_w_{w_.size()}, packed_u_{u_.size()}, state_{2 * kHidden};
  AlignedFloats output_{kSteps * kHidden},
      block_{RecurrentKeptFloats(kLstmCell, kSteps, 1, kHidden)};
  AlignedFloats scratch_{RecurrentBackwardScratchFloats(kLstmCell, 1, kInputs, kHidden)};
  AlignedFloats d_output_ = Normals(kSteps * kHidden, 1), dx_{x_.size()};
  AlignedFloats dw_{w_.size()}, du_{u_.size()}, db_{bias_.size()};
  std::vector<std::uint8_t> first_ = std::vector<std::uint8_t>(kSteps);
  RecurrentKept kept_ = RecurrentKeptIn(kLstmCell, kSteps, 1, kHidden, block_.data());
};

void MeasureLstm() {
  Lstm lstm;
  double step = 1e9, learn = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    step = std::min(step, SecondsPerCall([&] { lstm.Step(); }));
    learn = std::min(learn, SecondsPerCall([&] { lstm.Learn(); }, 20, 2e-3));
  }
  const auto print = [&](const char* name, double seconds, double flops, double target) {
    Print({.name = name,
           .unit = "us",
           .ours = seconds * 1e6,
           .limit = flops / peak * 1e6,
           .target = target,
           .target_is_ratio = false,
           .smaller_is_better = true});
  };
  print("LSTM(64->128) step, batch 1", step, Lstm::kStepFlops, 7);
  print("LSTM(64->128) forward and backward over 20 steps, batch 1", learn,
        3 * 20 * Lstm::kStepFlops, 260);
}

void MeasureInitialization() {
  PolicyAndValue spec = DenseModel(1024, 1024, 2);
  spec.trunk.pop_back();
  spec.separate_value = false;
  AlignedFloats parameters(ParameterLayout(spec).total);
  const double seconds = SecondsPerCall([&] { InitializeParameters(spec, 1, parameters); }, 5, 0.1);
  Print({.name = "orthogonal 1024x1024",
         .unit = "ms",
         .ours = seconds * 1e3,
         .target = 100,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

/// In turns, so that both see the same machine.
void MeasureTwoThreads(const std::string& model, const ModelSpec& spec, int rows, double target) {
  ActorCriticStep one(spec, rows), two(spec, rows, 2);
  double alone = 1e9, together = 1e9;
  for (int turn = 0; turn < 10; ++turn) {
    alone = std::min(alone, WallSecondsPerCall([&] { one.Run(); }, 2, 2e-2));
    together = std::min(together, WallSecondsPerCall([&] { two.Run(); }, 2, 2e-2));
  }
  char times[64];
  std::snprintf(times, sizeof times, ", 2 threads, %.2f ms (one: %.2f ms)", together * 1e3,
                alone * 1e3);
  Print({.name = model + times,
         .unit = "x one thread",
         .ours = alone / together,
         .target = target,
         .target_is_ratio = false});
}

}  // namespace
}  // namespace murmurate

int main() {
  murmurate::MeasureForward();
  murmurate::MeasureLstm();
  murmurate::MeasureInitialization();
  murmurate::MeasureTraining(256);
  murmurate::MeasureTwoThreads("Nature-CNN training step, batch 256", murmurate::NatureCnnModel(),
                               256, 1.8);
  murmurate::MeasureTwoThreads("17-256-256-6 training step, minibatch 1024",
                               murmurate::DenseModel(17, 256, 6), 1024, 0);
  murmurate::MeasureTwoThreads("17-64-lstm128-6 training step, 32 sequences of 32",
                               murmurate::LstmModel(), 1024, 0);
}
