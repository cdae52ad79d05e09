// What one message of a stream costs without a broker: a forecast (Take and Predict), packing new
// weights, and one training step over what has come, beside what one step of a network of that size
// costs by its multiplications alone. Medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

double Now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// `devices` take turns; all of them have spoken before each training step.
void Measure(const char* name, int units, int window, int devices, int rounds) {
  ForecastSettings settings = OneField(window);
  settings.fields.resize(3);
  const ModelSpec spec = SpecOf(settings, {.units = units, .kind = Layer::Kind::kLstm});
  const int sequences = std::min(devices, 64);
  Forecasting run(settings, spec, Forecasting::Algorithm(window, sequences, 1e-3));
  TrainingBatch batch(TrajectoryLayout(spec, window), sequences);
  std::vector<double> forecast, pack, step;
  int message = 0;
  for (int round = 0; round < rounds; ++round) {
    const double begin = Now();
    for (int i = 0; i < devices; ++i, ++message)
      run.Say(std::to_string(i), {std::sin(message * 0.01f), 1.0f * (message % 7), 0.5f}, message);
    run.forecaster.Predict();
    forecast.push_back((Now() - begin) / devices);
    double steps = 0;
    int pairs = 0;
    for (double at = Now(); run.forecaster.Fill(&batch); at = Now()) {
      run.learner.Learn(batch, 0);
      batch.Clear();
      pairs += static_cast<int>(run.forecaster.OnTrained());
      steps += Now() - at;
    }
    if (pairs > 0) step.push_back(steps / pairs);
    const auto snapshot = run.learner.MakeSnapshot();
    const double at = Now();
    run.forecaster.ApplyWeights(*snapshot);
    pack.push_back(Now() - at);
  }
  const double forecast_us = Median(forecast), step_us = Median(step);
  std::printf(
      "%-28s a forecast %7.2f us   a pair learned %7.2f us   weights packed %6.1f us   "
      "both on one core: %.0f messages/s\n",
      name, forecast_us, step_us, Median(pack), 1e6 / (forecast_us + step_us));
}

}  // namespace
}  // namespace murmurate

int main() {
  murmurate::Measure("lstm 128, sequence 1", 128, 1, 1, 3000);
  murmurate::Measure("lstm 128, sequence 20", 128, 20, 1, 2000);
  murmurate::Measure("lstm 64, 20, 1000 devices", 64, 20, 1000, 20);
  murmurate::Measure("lstm 64, 4, 1000 devices", 64, 4, 1000, 40);
}
