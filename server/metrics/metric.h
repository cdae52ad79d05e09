// Metric: one number of a run, declared once by the part that measures it. Everything that shows
// numbers (progress.csv, the screen, `murmurate status`) reads what is declared here:
//
//   inline constexpr Metric kTdError{"train/td_error", MetricKind::kMean, "", "mean |TD error|"};
//   report.metrics.Set(kTdError, 0.25);   // the producer, on its own thread
//   reading[kTdError].number();           // a sink, on mmr-operate
//
// A metric that is no column of progress.csv yet becomes its last one with the first row that has
// it. Names follow Stable-Baselines3; a metric is known by its name.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/metrics/histogram.h"

namespace murmurate {

enum class MetricKind : std::uint8_t {
  kCounter,  ///< producers give increments, readers see their sum
  kTotal,    ///< a count whose producer keeps the sum
  kGauge,    ///< the newest value
  kMean,     ///< the mean since the last row; read live, the newest value
  kMax,      ///< the largest since the last row; read live, the newest value
  kText,
  kHistogram,
};

struct Metric {
  std::string_view name;
  MetricKind kind = MetricKind::kGauge;
  std::string_view unit = {};
  std::string_view help = {};
  /// Its place in the JSON of `murmurate status`: "steps", or "evaluation.steps" inside an
  /// object; '*' stands for the sample's label. "": it is not shown there.
  std::string_view key = {};
  bool in_files = true;  ///< a column of progress.csv; of labelled samples, rows of reports.csv
};

constexpr bool operator==(const Metric& a, const Metric& b) { return a.name == b.name; }

/// A number, a text, a histogram, or nothing: what does not exist yet, or is not finite.
class MetricValue {
 public:
  using Variant = std::variant<std::monostate, bool, std::uint64_t, double, std::string, Histogram>;

  MetricValue() = default;
  MetricValue(bool value) : value_(value) {}
  MetricValue(std::integral auto value) : value_(static_cast<std::uint64_t>(value)) {}
  MetricValue(double value) {
    if (std::isfinite(value)) value_ = value;
  }
  MetricValue(std::string value) : value_(std::move(value)) {}
  MetricValue(const char* value) : value_(std::string(value)) {}
  MetricValue(Histogram value) : value_(std::move(value)) {}
  template <typename T>
  MetricValue(const std::optional<T>& value) {
    if (value) *this = MetricValue(*value);
  }

  bool empty() const { return value_.index() == 0; }
  /// A count of 0, or false.
  bool zero() const;
  std::uint64_t count() const;           ///< 0 where it is no count
  std::optional<double> number() const;  ///< of a count, too
  std::string text() const;              ///< "" where it is no text
  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

/// Measurements holds the numbers that a producer has measured since it last reported; one thread.
/// It allocates once a report, when the first number is set.
class Measurements {
 public:
  using Entry = std::pair<const Metric*, double>;
  /// Set again, a counter adds up, and of all else the later counts. What is not finite says
  /// nothing.
  void Set(const Metric& metric, double value) {
    if (entries_.empty()) entries_.reserve(48);
    entries_.emplace_back(&metric, value);
  }
  void Set(const Metric&& metric, double value) = delete;  ///< declarations outlive their values
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace murmurate
