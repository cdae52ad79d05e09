// What replay is for: a regime that comes again after another finds that it is still known.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

constexpr int kRegime = 500;
const Layer kTanh{.units = 32, .activation = Activation::kTanh};
const Layer kGru{.units = 16, .kind = Layer::Kind::kGru};

/// x[t+1] = 0.5 x[t] + m u[t], u drawn from -1 to 1, m = 1 in regime A and -1 in B, by turns of
/// kRegime messages: whoever knows only the one forecasts what u does in the other with its sign
/// turned round. u is said with each message, and m if it is `told`: then one model can know both.
/// The model's absolute errors, message by message, mean of three seeds.
std::vector<double> ErrorsOf(Layer layer, int replay, int regimes, bool told) {
  ForecastSettings settings = OneField(8);
  settings.fields.resize(3);
  const ModelSpec spec = SpecOf(settings, layer);
  std::vector<double> errors(static_cast<std::size_t>(kRegime * regimes));
  for (const std::uint64_t seed : {1, 2, 3}) {
    Forecasting run(settings, spec);
    if (replay > 0)
      run.replay = std::make_unique<ReplayWindow>(
          TrajectoryLayout(spec, spec.recurrent() ? settings.window : 1), replay, seed);
    float forecast = 0;
    run.on_forecast = [&](const Forecast& said) { forecast = said.predictions[0].model; };
    Random random(seed);
    float x = 0;
    for (int i = 0; i < kRegime * regimes; ++i) {
      errors[static_cast<std::size_t>(i)] += std::abs(x - forecast) / 3;
      const float m = i / kRegime % 2 == 0 ? 1.0f : -1.0f, u = 2 * random.Uniform() - 1;
      EXPECT_EQ(run.Say("a", {x, u, told ? m : 0.0f}, i), Refusal::kNone);
      run.Learn();
      x = 0.5f * x + m * u;
    }
    EXPECT_EQ(run.forecaster.totals().learned, errors.size() - 1) << "once each, replayed or not";
    EXPECT_EQ(run.learned, errors.size() - 1);
  }
  return errors;
}

double Mean(const std::vector<double>& errors, int from, int to) {
  return std::accumulate(errors.begin() + from, errors.begin() + to, 0.0) / (to - from);
}

/// In the first rows of A, each time that it comes back, from the second on. (Its very first row
/// was forecast by a message of B.)
double ErrorsOfReturns(Layer layer, int replay) {
  constexpr int kRegimes = 10, kFirst = 20;
  const auto errors = ErrorsOf(layer, replay, kRegimes, /*told=*/true);
  double sum = 0;
  for (const int regime : {4, 6, 8})
    sum += Mean(errors, regime * kRegime + 1, regime * kRegime + 1 + kFirst) / 3;
  return sum;
}

TEST(Replay, ARegimeThatComesBackIsStillKnown) {
  const double without = ErrorsOfReturns(kTanh, 0), with = ErrorsOfReturns(kTanh, 1000);
  std::printf("errors after returns: %.3f, with replay %.3f\n", without, with);
  EXPECT_LT(with, 0.6 * without);
  const double recurrent = ErrorsOfReturns(kGru, 0), replayed = ErrorsOfReturns(kGru, 1000);
  std::printf("of a model that recurs: %.3f, with replay %.3f\n", recurrent, replayed);
  EXPECT_LT(replayed, 0.85 * recurrent);
}

/// Its price: what it repeats is wrong now.
TEST(Replay, OfAPastThatNeverComesBackDelaysWhatIsNew) {
  const auto from = kRegime + 100, to = kRegime + 300;
  const double without = Mean(ErrorsOf(kTanh, 0, 2, /*told=*/false), from, to);
  const double with = Mean(ErrorsOf(kTanh, 1000, 2, /*told=*/false), from, to);
  std::printf("errors after a drift for good: %.3f, with replay %.3f\n", without, with);
  EXPECT_GT(with, 1.2 * without);
}

}  // namespace
}  // namespace murmurate
