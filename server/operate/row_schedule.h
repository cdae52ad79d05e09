// RowSchedule: when the next row of progress.csv is due: an interval after the last one, later
// while it would only repeat it, at once after an evaluation. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace murmurate {

class RowSchedule {
 public:
  RowSchedule(std::int64_t start_ns, double interval_s)
      : interval_ns_(static_cast<std::int64_t>(interval_s * 1e9)),
        next_ns_(start_ns + interval_ns_) {}

  void OnNews() { news_ = true; }
  /// A row is due now.
  void Ask() {
    news_ = true;
    next_ns_ = 0;
  }
  bool asked() const { return next_ns_ == 0; }
  std::int64_t due_ns() const { return news_ ? next_ns_ : quiet_ns_; }
  void OnRow(std::int64_t now_ns) {
    next_ns_ = now_ns + interval_ns_;
    quiet_ns_ = std::max(next_ns_, now_ns + kQuietNs);
    news_ = false;
  }

 private:
  static constexpr std::int64_t kQuietNs = 5'000'000'000;  ///< from a row to one that repeats it
  const std::int64_t interval_ns_;
  std::int64_t next_ns_, quiet_ns_ = 0;
  bool news_ = true;  ///< something came since the last row
};

}  // namespace murmurate
