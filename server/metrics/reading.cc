#include "server/metrics/reading.h"

#include <algorithm>

namespace murmurate {
namespace {

const MetricValue kNothing;

}  // namespace

bool MetricValue::zero() const {
  if (const bool* yes = std::get_if<bool>(&value_)) return !*yes;
  const auto* count = std::get_if<std::uint64_t>(&value_);
  return count != nullptr && *count == 0;
}

std::uint64_t MetricValue::count() const {
  const auto* count = std::get_if<std::uint64_t>(&value_);
  return count ? *count : 0;
}

std::optional<double> MetricValue::number() const {
  if (const auto* count = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*count);
  const double* number = std::get_if<double>(&value_);
  return number ? std::optional(*number) : std::nullopt;
}

std::string MetricValue::text() const {
  const std::string* text = std::get_if<std::string>(&value_);
  return text ? *text : "";
}

void Reading::Set(const Metric& metric, MetricValue value) {
  for (MetricSample& sample : samples_)
    if (sample.label.empty() && *sample.metric == metric) {
      sample.value = std::move(value);
      return;
    }
  samples_.push_back({&metric, std::move(value), "", 0});
}

const MetricValue& Reading::operator[](std::string_view name) const {
  for (const MetricSample& sample : samples_)
    if (sample.label.empty() && sample.metric->name == name) return sample.value;
  return kNothing;
}

const MetricValue& Reading::At(std::string_view key) const {
  for (const MetricSample& sample : samples_)
    if (sample.metric->key == key) return sample.value;
  return (*this)[key];
}

}  // namespace murmurate
