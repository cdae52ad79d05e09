#include <utility>

#include "server/compute/convolution_gradient.h"
#include "tests/compute/layer_check.h"

namespace murmurate {
namespace {

struct Case {
  Window window;
  int filters, images;

  std::size_t inputs() const {
    return static_cast<std::size_t>(images) * window.height * window.width * window.channels;
  }
  int depth() const { return window.kernel.height * window.kernel.width * window.channels; }
  std::size_t weights() const { return static_cast<std::size_t>(depth()) * filters; }
  std::size_t outputs() const {
    const Extent out = OutputExtent(window);
    return static_cast<std::size_t>(images) * out.height * out.width * filters;
  }
};

/// Rectangles, strides beyond the kernel, kernels as large as the picture or larger than it within
/// the padding, one channel, one filter, several tiles of patches.
const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {{5, 7, 3, {3, 2}, {2, 1}, {1, 0}}, 4, 2},  {{4, 4, 1, {4, 4}, {1, 1}, {0, 0}}, 1, 1},
      {{9, 9, 2, {3, 3}, {1, 1}, {1, 1}}, 17, 1}, {{3, 4, 5, {3, 5}, {2, 3}, {2, 2}}, 33, 1},
      {{6, 6, 8, {1, 1}, {1, 1}, {0, 0}}, 70, 3}, {{6, 5, 3, {1, 1}, {2, 2}, {1, 0}}, 2, 2},
      {{7, 9, 4, {2, 2}, {3, 4}, {0, 0}}, 16, 1}, {{12, 11, 16, {5, 5}, {1, 1}, {2, 2}}, 9, 1},
      {{1, 1, 1, {1, 1}, {1, 1}, {0, 0}}, 1, 1},  {{20, 20, 4, {8, 8}, {4, 4}, {0, 0}}, 32, 3}};
  return kCases;
}

/// The definition, in double.
std::vector<double> Reference(const Case& k, const std::vector<double>& x,
                              const std::vector<double>& weight, const std::vector<double>& bias) {
  const Window& w = k.window;
  const Extent out = OutputExtent(w);
  std::vector<double> y;
  for (int n = 0; n < k.images; ++n)
    for (int oy = 0; oy < out.height; ++oy)
      for (int ox = 0; ox < out.width; ++ox)
        for (int f = 0; f < k.filters; ++f) {
          double sum = bias[f];
          for (int ky = 0; ky < w.kernel.height; ++ky)
            for (int kx = 0; kx < w.kernel.width; ++kx) {
              const int iy = oy * w.stride.height + ky - w.padding.height;
              const int ix = ox * w.stride.width + kx - w.padding.width;
              if (iy < 0 || iy >= w.height || ix < 0 || ix >= w.width) continue;
              for (int c = 0; c < w.channels; ++c)
                sum += x[((n * w.height + iy) * w.width + ix) * w.channels + c] *
                       weight[((ky * w.kernel.width + kx) * w.channels + c) * k.filters + f];
            }
          y.push_back(sum);
        }
  return y;
}

class ConvolutionTest : public LayerTest {};

TEST_P(ConvolutionTest, GivesTheWorkedOutNumbers) {
  // 1 2 3      1 10       each output: top left + 10 top right + 100 bottom left + 1000 bottom
  // 4 5 6   *  100 1000   right, + 0.5
  // 7 8 9
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weight = {1, 10, 100, 1000};
  const float bias = 0.5f;
  std::vector<float> scratch = Poisoned(4096), y = Poisoned(4);
  ConvForwardCall call = {.window = {3, 3, 1, {2, 2}, {1, 1}, {0, 0}},
                          .filters = 1,
                          .input = x.data(),
                          .weight = weight.data(),
                          .bias = &bias,
                          .output = y.data(),
                          .scratch = scratch.data()};
  ConvForward(call, *forward);
  ExpectValues(y, {5421.5, 6532.5, 8754.5, 9865.5}, "2x2 over 3x3");
  // Padded by one and two apart: the corners, where only one number of the window is inside.
  call.window = {3, 3, 1, {2, 2}, {3, 3}, {1, 1}};
  std::vector<float> corners = Poisoned(4);
  call.output = corners.data();
  ConvForward(call, *forward);
  ExpectValues(corners, {1000.5, 300.5, 70.5, 9.5}, "corners");
}

TEST_P(ConvolutionTest, AgreesWithTheDefinitionForEveryShape) {
  for (const Case& k : Cases()) {
    const std::vector<float> x = Normals(k.inputs(), 1), weight = Normals(k.weights(), 2, 0.3f);
    const std::vector<float> bias = Normals(k.filters, 3);
    std::vector<float> scratch = Poisoned(ConvForwardScratchFloats(k.window, k.images));
    std::vector<float> y = Poisoned(k.outputs());
    ConvForward({k.window, k.filters, k.images, x.data(), nullptr, weight.data(), bias.data(),
                 Epilogue::kRelu, y.data(), scratch.data()},
                *forward);
    std::vector<double> expected = Reference(k, Doubles(x), Doubles(weight), Doubles(bias));
    for (double& v : expected) v = std::max(v, 0.0);
    ExpectValues(y, expected, "output");
    ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
  }
}

TEST_P(ConvolutionTest, BytesAreWorthA255thEach) {
  for (const Case& k : Cases()) {
    std::vector<std::uint8_t> bytes(k.inputs());
    std::vector<double> x;
    Random random(1);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.UniformInt(256));
    bytes[0] = 255;
    for (const std::uint8_t byte : bytes) x.push_back(byte / 255.0);
    const std::vector<float> weight = Normals(k.weights(), 2, 0.3f), bias = Normals(k.filters, 3);
    std::vector<float> scratch = Poisoned(ConvBackwardScratchFloats(k.window, k.filters, k.images));
    std::vector<float> y = Poisoned(k.outputs());
    ConvForward({k.window, k.filters, k.images, nullptr, bytes.data(), weight.data(), bias.data(),
                 Epilogue::kNone, y.data(), scratch.data()},
                *forward);
    std::vector<double> w = Doubles(weight);
    const std::vector<double> b = Doubles(bias);
    ExpectValues(y, Reference(k, x, w, b), "output");
    const std::vector<float> dy = Normals(k.outputs(), 4);
    std::vector<float> dw(k.weights(), 0.0f);
    ConvBackward({.window = k.window,
                  .filters = k.filters,
                  .images = k.images,
                  .bytes = bytes.data(),
                  .weight = weight.data(),
                  .d_sums = dy.data(),
                  .d_weight = dw.data(),
                  .scratch = scratch.data()},
                 *backward);
    ExpectGradient([&] { return Dot(Reference(k, x, w, b), dy); }, &w, dw, 0, "d_weight");
  }
}

TEST_P(ConvolutionTest, BackwardAgreesWithFiniteDifferences) {
  for (const Case& k : Cases()) {
    std::vector<double> x = Doubles(Normals(k.inputs(), 1)), b = Doubles(Normals(k.filters, 3));
    const std::vector<float> input = Normals(k.inputs(), 1), weight = Normals(k.weights(), 2, 0.3f);
    std::vector<double> w = Doubles(weight);
    const std::vector<float> dy = Normals(k.outputs(), 4);
    std::vector<float> scratch = Poisoned(ConvBackwardScratchFloats(k.window, k.filters, k.images));
    std::vector<float> dx = Poisoned(k.inputs()), dw(k.weights(), 0.5f), db(k.filters, -1.0f);
    ConvBackward({k.window, k.filters, k.images, input.data(), nullptr, weight.data(), dy.data(),
                  dw.data(), db.data(), dx.data(), Epilogue::kNone, scratch.data()},
                 *backward);
    const auto loss = [&] { return Dot(Reference(k, x, w, b), dy); };
    ExpectGradient(loss, &x, dx, 0, "d_input");
    ExpectGradient(loss, &w, dw, 0.5, "d_weight");
    ExpectGradient(loss, &b, db, -1, "d_bias");
    ExpectValues({dx.end() - kFence, dx.end()}, {}, "d_input");
    ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
  }
}

TEST_P(ConvolutionTest, TheGradientGoesOnThroughTheActivationBelow) {
  for (const Case& k : Cases()) {
    const std::vector<float> input = Normals(k.inputs(), 1), weight = Normals(k.weights(), 2);
    const std::vector<float> dy = Normals(k.outputs(), 4);
    std::vector<float> scratch = Poisoned(ConvBackwardScratchFloats(k.window, k.filters, k.images));
    std::vector<float> plain = Poisoned(k.inputs()), masked = plain;
    ConvBackwardCall call = {.window = k.window,
                             .filters = k.filters,
                             .images = k.images,
                             .input = input.data(),
                             .weight = weight.data(),
                             .d_sums = dy.data(),
                             .d_input = plain.data(),
                             .scratch = scratch.data()};
    ConvBackward(call, *backward);
    call.d_input = masked.data();
    call.input_epilogue = Epilogue::kReluGradient;
    ConvBackward(call, *backward);
    for (std::size_t i = 0; i < k.inputs(); ++i)
      ASSERT_EQ(masked[i], input[i] > 0 ? plain[i] : 0.0f) << i;
  }
}

TEST_P(ConvolutionTest, ImagesMayLieApart) {
  for (const Case& k : Cases()) {
    const std::size_t picture = k.inputs() / k.images, apart = picture + 5;
    const std::vector<float> x = Normals(k.inputs(), 1), weight = Normals(k.weights(), 2, 0.3f);
    const std::vector<float> dy = Normals(k.outputs(), 4);
    std::vector<float> spread = Poisoned(apart * k.images);
    for (int i = 0; i < k.images; ++i)
      std::copy_n(x.data() + i * picture, picture, spread.data() + i * apart);
    std::vector<float> scratch = Poisoned(ConvBackwardScratchFloats(k.window, k.filters, k.images));
    std::vector<float> y[2], dx[2], dw[2];
    for (const int far : {0, 1}) {
      y[far].resize(k.outputs()), dx[far].resize(k.inputs()), dw[far].resize(k.weights());
      const float* const input = far ? spread.data() : x.data();
      const auto stride = static_cast<std::ptrdiff_t>(far ? apart : 0);
      ConvForward({k.window, k.filters, k.images, input, nullptr, weight.data(), nullptr,
                   Epilogue::kNone, y[far].data(), scratch.data(), stride},
                  *forward);
      ConvBackward(
          {k.window, k.filters, k.images, input, nullptr, weight.data(), dy.data(), dw[far].data(),
           nullptr, dx[far].data(), Epilogue::kReluGradient, scratch.data(), stride},
          *backward);
    }
    EXPECT_EQ(y[0], y[1]);
    EXPECT_EQ(dx[0], dx[1]);
    EXPECT_EQ(dw[0], dw[1]);
  }
}

TEST_P(ConvolutionTest, OneImageAtATimeGivesTheSameAsAllTogether) {
  const Case k = {{20, 20, 4, {8, 8}, {4, 4}, {2, 2}}, 32, 9};
  const std::vector<float> x = Normals(k.inputs(), 1), weight = Normals(k.weights(), 2, 0.3f);
  std::vector<float> scratch = Poisoned(ConvForwardScratchFloats(k.window, k.images));
  std::vector<float> together = Poisoned(k.outputs()), apart = together;
  ConvForwardCall call = {.window = k.window,
                          .filters = k.filters,
                          .images = k.images,
                          .input = x.data(),
                          .weight = weight.data(),
                          .output = together.data(),
                          .scratch = scratch.data()};
  ConvForward(call, *forward);
  for (int image = 0; image < k.images; ++image) {
    call.images = 1;
    call.input = x.data() + image * k.inputs() / k.images;
    call.output = apart.data() + image * k.outputs() / k.images;
    ConvForward(call, *forward);
  }
  for (std::size_t i = 0; i < k.outputs(); ++i) ASSERT_NEAR(together[i], apart[i], 1e-5) << i;
}

INSTANTIATE_TEST_SUITE_P(, ConvolutionTest, EachSet(), SetName);

TEST(WindowTest, OutputsAreCountedAsPyTorchCountsThem) {
  const auto out = [](const Window& window) {
    const Extent extent = OutputExtent(window);
    return std::pair(extent.height, extent.width);
  };
  EXPECT_EQ(out({84, 84, 4, {8, 8}, {4, 4}, {0, 0}}), std::pair(20, 20));
  EXPECT_EQ(out({20, 20, 32, {4, 4}, {2, 2}, {0, 0}}), std::pair(9, 9));
  EXPECT_EQ(out({84, 84, 16, {3, 3}, {2, 2}, {1, 1}}), std::pair(42, 42));
  EXPECT_EQ(out({7, 6, 3, {3, 2}, {2, 1}, {1, 0}}), std::pair(4, 5));
}

TEST(WindowTest, AWindowThatDoesNotFitHasNoOutput) {
  for (const Window& window : std::vector<Window>{{4, 9, 1, {5, 3}, {1, 1}, {0, 0}},
                                                  {9, 4, 1, {3, 7}, {1, 1}, {1, 1}},
                                                  {4, 4, 1, {2, 2}, {0, 1}, {0, 0}},
                                                  {4, 4, 1, {2, 2}, {1, 1}, {0, -1}}}) {
    EXPECT_EQ(OutputExtent(window).height, 0);
    EXPECT_EQ(OutputExtent(window).width, 0);
  }
}

}  // namespace
}  // namespace murmurate
