// A Forecaster and the Learner that teaches it, in one thread, for tests: every message is forecast
// from, then learned from.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/learner.h"
#include "server/stream/forecaster.h"
#include "server/stream/replay_window.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

inline ForecastSettings OneField(int window, std::vector<int> horizons = {1}) {
  ForecastSettings settings;
  settings.fields.emplace_back().name = "x";
  settings.targets = {0};
  settings.horizons = std::move(horizons);
  settings.window = window;
  settings.every_s = 0;
  return settings;
}

inline PolicyAndValue SpecOf(const ForecastSettings& settings, Layer layer) {
  const bool recurrent = layer.kind == Layer::Kind::kLstm || layer.kind == Layer::Kind::kGru;
  const int inputs = InputsOf(settings) * (recurrent ? 1 : settings.window);
  return {.spaces = {Box({inputs}), Box({OutputsOf(settings)})},
          .trunk = {layer},
          .separate_value = false};
}

class Forecasting {
 public:
  Forecasting(const ForecastSettings& settings, const ModelSpec& spec)
      : Forecasting(settings, spec, Algorithm(spec.recurrent() ? settings.window : 1, 64, 2e-3)) {}
  Forecasting(const ForecastSettings& settings, const ModelSpec& spec,
              const AlgorithmSettings& algorithm, std::uint64_t seed = 7)
      : learner(spec, algorithm, seed),
        batch_(TrajectoryLayout(spec, algorithm.trajectory_length),
               algorithm.batch_steps / algorithm.trajectory_length),
        forecaster(settings, spec, [this](const Forecast& forecast) {
          if (on_forecast) on_forecast(forecast);
        }) {
    forecaster.ApplyWeights(*learner.MakeSnapshot());
  }

  /// A message of device `name` with one value a second.
  Refusal Say(const std::string& name, std::vector<double> values, double time_s) {
    sample_.device = name;
    sample_.values = std::move(values);
    sample_.time_ns = static_cast<std::int64_t>(time_s * 1e9) + 1;
    return forecaster.Consume(sample_, sample_.time_ns);
  }
  /// All that waits.
  void Learn() {
    forecaster.Predict();
    while (forecaster.Fill(&batch_)) {
      if (replay) replay->Mix(&batch_);
      if (on_batch) on_batch(batch_);
      learner.Learn(batch_, 0);
      batch_.Clear();
      learned += forecaster.OnTrained();
    }
    forecaster.ApplyWeights(*learner.MakeSnapshot());
  }

  static AlgorithmSettings Algorithm(int length, int sequences, double learning_rate) {
    AlgorithmSettings settings;
    settings.kind = AlgorithmNamed("supervised");
    settings.trajectory_length = length;
    settings.batch_steps = settings.minibatch = length * sequences;
    settings.epochs = 1;
    settings.learning_rate = learning_rate;
    settings.max_grad_norm = 10;
    return settings;
  }

 private:
  Sample sample_;

 public:
  Learner learner;

 private:
  TrainingBatch batch_;

 public:
  Forecaster forecaster;
  std::function<void(const Forecast&)> on_forecast;
  std::function<void(const TrainingBatch&)> on_batch;  ///< before it is learned
  std::uint64_t learned = 0;                           ///< pairs
  std::unique_ptr<ReplayWindow> replay;
};

}  // namespace murmurate
