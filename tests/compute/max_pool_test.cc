#include "server/compute/pool_and_norm_gradient.h"
#include "tests/compute/layer_check.h"

namespace murmurate {
namespace {

struct Case {
  Window window;
  int images;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {{7, 6, 5, {3, 3}, {2, 2}, {1, 1}}, 2},  {{6, 8, 17, {2, 2}, {2, 2}, {0, 0}}, 1},
      {{5, 7, 3, {2, 3}, {1, 2}, {1, 0}}, 1},  {{3, 3, 1, {3, 3}, {1, 1}, {0, 0}}, 1},
      {{9, 5, 33, {4, 4}, {3, 2}, {2, 2}}, 3}, {{1, 1, 16, {1, 1}, {1, 1}, {0, 0}}, 1}};
  return kCases;
}

std::size_t InputCount(const Case& k) {
  return static_cast<std::size_t>(k.images) * k.window.height * k.window.width * k.window.channels;
}
std::size_t OutputCount(const Case& k) {
  const Extent out = OutputExtent(k.window);
  return static_cast<std::size_t>(k.images) * out.height * out.width * k.window.channels;
}

std::vector<double> Reference(const Case& k, const std::vector<double>& x) {
  const Window& w = k.window;
  const Extent out = OutputExtent(w);
  std::vector<double> y;
  for (int n = 0; n < k.images; ++n)
    for (int oy = 0; oy < out.height; ++oy)
      for (int ox = 0; ox < out.width; ++ox)
        for (int c = 0; c < w.channels; ++c) {
          double best = -std::numeric_limits<double>::infinity();
          for (int iy = oy * w.stride.height - w.padding.height, ky = 0; ky < w.kernel.height;
               ++iy, ++ky)
            for (int ix = ox * w.stride.width - w.padding.width, kx = 0; kx < w.kernel.width;
                 ++ix, ++kx)
              if (iy >= 0 && iy < w.height && ix >= 0 && ix < w.width)
                best = std::max(best, x[((n * w.height + iy) * w.width + ix) * w.channels + c]);
          y.push_back(best);
        }
  return y;
}

class MaxPoolTest : public LayerTest {};

TEST_P(MaxPoolTest, GivesTheWorkedOutNumbersAndRemembersTheFirstOfEqualOnes) {
  // -1 -1 | -3      windows of 2x2, stride 2, padding 1: corners alone, then the middle
  // -2  5 |  5
  // -4  5 | -6
  const std::vector<float> x = {-1, -1, -3, -2, 5, 5, -4, 5, -6};
  std::vector<float> y = Poisoned(4), winner = Poisoned(4);
  const Window window = {3, 3, 1, {2, 2}, {2, 2}, {1, 1}};
  MaxPoolForward({window, 1, x.data(), y.data(), winner.data()}, *forward);
  ExpectValues(y, {-1, -1, -2, 5}, "greatest");
  ExpectValues(winner, {3, 2, 1, 0}, "where");
  const std::vector<float> dy = {10, 20, 30, 40};
  std::vector<float> dx = Poisoned(9);
  MaxPoolBackward({window, 1, winner.data(), dy.data(), dx.data()}, *backward);
  ExpectValues(dx, {10, 20, 0, 30, 40, 0, 0, 0, 0}, "gradient");
}

TEST_P(MaxPoolTest, AgreesWithTheDefinitionAndWithFiniteDifferences) {
  for (const Case& k : Cases()) {
    const std::vector<float> input = Normals(InputCount(k), 1), dy = Normals(OutputCount(k), 2);
    std::vector<float> y = Poisoned(OutputCount(k)), winner = y, dx = Poisoned(InputCount(k));
    MaxPoolForward({k.window, k.images, input.data(), y.data(), winner.data()}, *forward);
    std::vector<double> x = Doubles(input);
    ExpectValues(y, Reference(k, x), "output");
    MaxPoolBackward({k.window, k.images, winner.data(), dy.data(), dx.data()}, *backward);
    ExpectGradient([&] { return Dot(Reference(k, x), dy); }, &x, dx, 0, "d_input");
    ExpectValues({dx.end() - kFence, dx.end()}, {}, "d_input");
    std::vector<float> alone = Poisoned(OutputCount(k));
    MaxPoolForward({k.window, k.images, input.data(), alone.data(), nullptr}, *forward);
    ExpectValues(alone, Reference(k, x), "output without winners");
  }
}

INSTANTIATE_TEST_SUITE_P(, MaxPoolTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
