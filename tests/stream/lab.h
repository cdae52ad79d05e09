// A lab: a Forecaster whose labels come later, the Learner that teaches it, and their clock.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "shared/core/clock.h"
#include "tests/stream/forecasting.h"

namespace murmurate {

inline Layer Gru(int units) { return {.units = units, .kind = Layer::Kind::kGru}; }
inline Layer Tanh(int units) { return {.units = units, .activation = Activation::kTanh}; }

/// Samples of "a" and "b", labels of "quality".
inline ForecastSettings Late(int window = 4, int label_window = 8) {
  ForecastSettings settings;
  settings.fields = {{"a", ""}, {"b", ""}};
  settings.labels = {{"quality", ""}};
  settings.targets = {2};
  settings.horizons = {0};
  settings.window = window;
  settings.label_window = label_window;
  settings.per_device_state = false;
  return settings;
}

class Lab : public Forecasting {
 public:
  explicit Lab(const ForecastSettings& settings, const Layer& layer = Gru(8))
      : Lab(settings, layer, Algorithm(layer.recurrent() ? settings.window : 1, 64, 2e-3)) {}
  Lab(const ForecastSettings& settings, const Layer& layer, const AlgorithmSettings& algorithm)
      : Forecasting(settings, SpecOf(settings, layer), algorithm) {
    on_forecast = [this](const Forecast& made) {
      last = made.predictions[0];
      all.push_back(last.model);
    };
  }

  Refusal Sample(const std::string& id, float a, float b = 0, const std::string& device = "pump") {
    murmurate::Sample sample;
    sample.device = device;
    sample.id = id;
    sample.values = {a, b};
    sample.time_ns = ++now_s_ * kNanosecondsPerSecond;
    const Refusal refusal = forecaster.Consume(sample, sample.time_ns);
    forecaster.Predict();
    return refusal;
  }
  Refusal Label(const std::string& id, float quality, const std::string& device = "pump") {
    return Label(id, std::vector<double>{quality}, device);
  }
  Refusal Label(const std::string& id, std::vector<double> values,
                const std::string& device = "pump") {
    murmurate::Sample label;
    label.device = device;
    label.id = id;
    label.values = std::move(values);
    return forecaster.ConsumeLabel(label, now_s_ * kNanosecondsPerSecond);
  }
  Score ScoreNow() {
    EXPECT_EQ(Sample("score" + std::to_string(now_s_), 0), Refusal::kNone);
    return last.score;
  }
  void SetClock(const Lab& other) { now_s_ = other.now_s_; }
  Forecaster::Totals totals() const { return forecaster.totals(); }

  Prediction last;
  std::vector<double> all;  ///< what the model said at each row

 private:
  std::int64_t now_s_ = 1'700'000'000;
};

}  // namespace murmurate
