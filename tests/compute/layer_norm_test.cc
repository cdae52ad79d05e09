#include "server/compute/pool_and_norm_gradient.h"
#include "tests/compute/layer_check.h"

namespace murmurate {
namespace {

std::vector<double> Reference(int columns, const std::vector<double>& x,
                              const std::vector<double>& gain, const std::vector<double>& shift) {
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += columns) {
    double mean = 0, variance = 0;
    for (int j = 0; j < columns; ++j) mean += x[row + j] / columns;
    for (int j = 0; j < columns; ++j) variance += std::pow(x[row + j] - mean, 2) / columns;
    for (int j = 0; j < columns; ++j)
      y[row + j] = (x[row + j] - mean) / std::sqrt(variance + 1e-5) * gain[j] + shift[j];
  }
  return y;
}

class LayerNormTest : public LayerTest {};

TEST_P(LayerNormTest, GivesTheWorkedOutNumbers) {
  // Mean 3, variance 4 (so small an epsilon shows in the sixth digit), times 2, plus 10.
  const std::vector<float> x = {1, 5, 1, 5}, gain(4, 2.0f), shift(4, 10.0f);
  std::vector<float> y = Poisoned(4), kept = Poisoned(2);
  LayerNormForward({1, 4, x.data(), gain.data(), shift.data(), y.data(), kept.data()}, *forward);
  ExpectValues(y, {8.0000025, 11.9999975, 8.0000025, 11.9999975}, "output", 1e-6);
  ExpectValues(kept, {3, 0.499999375}, "kept", 1e-6);
}

TEST_P(LayerNormTest, AFlatRowBecomesTheShift) {
  const std::vector<float> x(19, 7.0f), gain(19, 2.0f), shift(19, -1.0f);
  std::vector<float> y = Poisoned(19);
  LayerNormForward({1, 19, x.data(), gain.data(), shift.data(), y.data(), nullptr}, *forward);
  ExpectValues(y, std::vector<double>(19, -1.0), "output");
}

TEST_P(LayerNormTest, AgreesWithTheDefinitionAndWithFiniteDifferences) {
  for (const int rows : {1, 3, 7})
    for (const int columns : {2, 5, 16, 33, 70}) {
      const std::size_t count = static_cast<std::size_t>(rows) * columns;
      std::vector<float> input = Normals(count, 1, 3.0f), dy = Normals(count, 2);
      for (float& v : input) v += 5.0f;
      const std::vector<float> gain = Normals(columns, 3), shift = Normals(columns, 4);
      std::vector<float> y = Poisoned(count), kept = Poisoned(2 * rows), dx = Poisoned(count);
      std::vector<float> d_gain(columns, 0.5f), d_shift(columns, -1.0f);
      LayerNormForward(
          {rows, columns, input.data(), gain.data(), shift.data(), y.data(), kept.data()},
          *forward);
      std::vector<double> x = Doubles(input), g = Doubles(gain), s = Doubles(shift);
      ExpectValues(y, Reference(columns, x, g, s), "output");
      LayerNormBackward({rows, columns, input.data(), gain.data(), kept.data(), dy.data(),
                         dx.data(), d_gain.data(), d_shift.data()},
                        *backward);
      const auto loss = [&] { return Dot(Reference(columns, x, g, s), dy); };
      ExpectGradient(loss, &x, dx, 0, "d_input");
      ExpectGradient(loss, &g, d_gain, 0.5, "d_gain");
      ExpectGradient(loss, &s, d_shift, -1, "d_shift");
    }
}

INSTANTIATE_TEST_SUITE_P(, LayerNormTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
