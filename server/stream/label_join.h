// LabelJoin: labels that come apart from their samples, joined with these by device and id. One that
// comes later is scored against the forecast made as its sample came (late_labels.h); one that comes
// before its sample waits for it (early_labels.h) and is scored as that has been forecast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "server/stream/device_table.h"
#include "server/stream/forecast_scores.h"
#include "server/stream/pair_queue.h"

namespace murmurate {

class LabelJoin {
 public:
  struct Counts {
    std::uint64_t unmatched = 0;  ///< labels that came early, and whose samples did not come
  };
  /// All of it outlives the join.
  struct Parts {
    const ForecastSettings& settings;
    DeviceTable& table;
    ForecastScores& scores;
    PairQueue& pairs;
    std::function<void()> predict;  ///< a forecast for each row that has none yet
  };

  explicit LabelJoin(Parts parts) : parts_(std::move(parts)) {}

  /// A label: kNone, and it is scored and waits to be learned, or waits for its sample; kUnknownId,
  /// kDuplicate, kMissingField, kNoId, kTooManyDevices.
  Refusal Consume(const Sample& label, std::int64_t arrival_ns);
  /// The newest row of a device is of the sample with this id. It is forecast at once if its label
  /// has come.
  void BeginRow(const std::shared_ptr<StreamDevice>& device, std::uint64_t id);
  /// A device is forgotten, and what waits with it.
  void Forget(const StreamDevice& device);

  /// Whether a label with this device and id would find its sample.
  bool Knows(const Sample& label) const;
  std::size_t waiting() const;  ///< labels that wait for their samples
  const Counts& counts() const { return counts_; }
  void GoOnFrom(const Counts& counts) { counts_ = counts; }

 private:
  Refusal Keep(const Sample& label, std::int64_t arrival_ns);
  void Apply(const std::shared_ptr<StreamDevice>& device, std::uint64_t row,
             std::span<const double> values);

  const Parts parts_;
  std::vector<double> values_;  ///< of a label that has found its sample
  Counts counts_;
};

}  // namespace murmurate
