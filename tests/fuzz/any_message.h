// Any topic and any payload, through all that takes them: TopicPattern, PayloadReader, Forecaster.
// Aborts where one of them promises more than it keeps.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/stream/forecaster.h"
#include "server/stream/names.h"
#include "server/stream/payload.h"
#include "server/stream/topic_pattern.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

class AnyMessage {
 public:
  static constexpr int kDevices = 16;
  static constexpr char kTopic[] = "plant/{site}/{device}/data";

  explicit AnyMessage(const PayloadSettings& payload)
      : pattern_(*TopicPattern::Parse(kTopic)),
        reader_(*PayloadReader::Make(payload)),
        forecaster_(Settings(payload), Spec(Settings(payload)),
                    [](const Forecast& forecast) { Check(forecast); }) {}

  /// A second after the one before.
  Refusal Consume(std::string_view topic, std::string_view payload) {
    const Refusal refusal = Read(topic, payload);
    forecaster_.Predict();
    counts_.Add(refusal);
    ++taken_;
    Require(Sum() == taken_);
    Require(forecaster_.totals().messages == counts_[Refusal::kNone]);
    Require(forecaster_.totals().rows <= counts_[Refusal::kNone]);
    Require(forecaster_.devices() <= kDevices);
    return refusal;
  }
  const RefusalCounts& counts() const { return counts_; }
  std::uint64_t Sum() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kRefusals; ++i) sum += counts_[static_cast<Refusal>(i)];
    return sum;
  }

 private:
  static ForecastSettings Settings(const PayloadSettings& payload) {
    ForecastSettings settings;
    for (const FieldSettings& field : payload.fields) settings.fields.push_back({field.name, ""});
    settings.targets = {0};
    settings.window = 4;
    settings.max_devices = kDevices;
    settings.forget_after_s = 100;
    return settings;
  }
  static PolicyAndValue Spec(const ForecastSettings& settings) {
    return {.spaces = {Box({InputsOf(settings)}), Box({OutputsOf(settings)})},
            .trunk = {{.units = 4, .kind = Layer::Kind::kGru}},
            .separate_value = false};
  }
  static void Check(const Forecast& forecast) {
    for (const double value : forecast.values) Require(std::isfinite(value));
    for (const Prediction& prediction : forecast.predictions)
      Require(std::isfinite(prediction.published));
  }
  Refusal Read(std::string_view topic, std::string_view payload) {
    Refusal refusal = pattern_.Match(topic, &levels_);
    if (refusal != Refusal::kNone) return refusal;
    sample_.device = pattern_.DeviceOf(levels_);
    Require(CheckDeviceName(sample_.device) == Refusal::kNone);
    refusal = reader_.Read(payload, &sample_);
    Require(sample_.values.capacity() <= 2 * reader_.settings().fields.size());
    if (refusal != Refusal::kNone) return refusal;
    Require(sample_.time_ns >= 0 && sample_.id.size() <= kMaxNameBytes);
    arrival_ns_ += 1'000'000'000;
    return forecaster_.Consume(sample_, arrival_ns_);
  }

  const TopicPattern pattern_;
  PayloadReader reader_;
  Forecaster forecaster_;
  Sample sample_;
  std::vector<std::string_view> levels_;
  RefusalCounts counts_;
  std::uint64_t taken_ = 0;
  std::int64_t arrival_ns_ = 1'777'640'000'000'000'000;  ///< May 2026
};

}  // namespace murmurate
