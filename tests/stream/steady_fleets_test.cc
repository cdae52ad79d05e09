// Drift in fleets whose nature never changes: there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

const Layer kTanh{.units = 8, .activation = Activation::kTanh};

/// One device's next value.
double Next(int kind, int row, double last, Random* random) {
  const double step = kind % 2 == 0 ? 0.1 : 10;
  switch (kind / 2) {
    case 0:
      return last + step * random->Normal();
    case 1:
      return step * random->Normal();
    case 2:
      return step * (std::sin(row * 0.3) + 0.1 * random->Normal());
    default:
      return step * std::exp(random->Normal());  // a tail on one side
  }
}

/// How many drifts a fleet has that learns as it goes.
std::uint64_t DriftsOf(int kind, int devices, int rows, std::uint64_t seed) {
  const ForecastSettings settings = OneField(4);
  Forecasting run(settings, SpecOf(settings, kTanh));
  Random random(seed);
  std::vector<double> last(static_cast<std::size_t>(devices));
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < devices; ++i) {
      double& value = last[static_cast<std::size_t>(i)];
      value = Next(kind, row, value, &random);
      EXPECT_EQ(run.Say(std::to_string(i), {value}, row), Refusal::kNone);
    }
    run.Learn();
  }
  return run.forecaster.totals().drifts;
}

TEST(Drift, IsNotNoticedInAHundredFleetsWhoseNatureNeverChanges) {
  std::uint64_t drifts = 0;
  for (int fleet = 0; fleet < 96; ++fleet)
    drifts += DriftsOf(fleet % 8, 30, 60, static_cast<std::uint64_t>(fleet + 1));
  for (int kind = 0; kind < 4; ++kind) drifts += DriftsOf(kind, 1000, 4, 1);
  EXPECT_EQ(drifts, 0u);
}

}  // namespace
}  // namespace murmurate
