// Reading: what is known of one subject (a model, a stream, an actor) at one moment: the values of
// its metrics. What every sink is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/metrics/metric.h"

namespace murmurate {

struct MetricSample {
  const Metric* metric;
  MetricValue value;
  /// The label among several: the name of a field, a refusal, a number that a game reports; "":
  /// there is one.
  std::string label;
  std::uint64_t count = 0;  ///< of what the value is a mean of, where that is known
};

class Reading {
 public:
  /// `subject`: "model", "stream", "actor".
  explicit Reading(std::string_view subject = "model", std::string name = "")
      : subject_(subject), name_(std::move(name)) {}

  std::string_view subject() const { return subject_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// Sets a metric's value, in place of an earlier one.
  void Set(const Metric& metric, MetricValue value);
  void Set(const Metric&& metric, MetricValue value) = delete;
  /// Adds a sample of a metric that has labels.
  void Add(const Metric& metric, std::string label, MetricValue value, std::uint64_t count = 0) {
    samples_.push_back({&metric, std::move(value), std::move(label), count});
  }
  /// The value of the metric of this name without a label; empty when there is none.
  const MetricValue& operator[](std::string_view name) const;
  const MetricValue& operator[](const Metric& metric) const { return (*this)[metric.name]; }
  /// The value of the metric that has this key, or this name.
  const MetricValue& At(std::string_view key) const;
  std::uint64_t Count(const Metric& metric) const { return (*this)[metric].count(); }
  std::optional<double> Number(const Metric& metric) const { return (*this)[metric].number(); }

  const std::vector<MetricSample>& samples() const { return samples_; }

 private:
  std::string_view subject_;
  std::string name_;
  std::vector<MetricSample> samples_;
};

}  // namespace murmurate
