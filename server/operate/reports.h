// Reports: the numbers a game reports by name (Agent::Report), as samples of kReported: over the
// last episodes, and over those since the last row.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "murmurate/status.h"
#include "server/metrics/reading.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

/// One model's. One thread.
class Reports {
 public:
  static constexpr std::size_t kMaxNames = 256;  ///< more are left out
  static constexpr std::uint64_t kWindow = 100;  ///< episodes

  void Add(const wire::ReportedNumber& number);
  /// Adds each name ever heard: over the last kWindow episodes that reported it, or a few more,
  /// because they come several at once.
  void AddLive(Reading* reading) const;
  /// Adds each name heard since the last call.
  void EndRow(Reading* reading);

 private:
  struct Sum {
    double sum = 0.0;
    std::uint64_t count = 0;
  };
  std::map<std::string, Sum> since_row_;
  std::map<std::string, std::deque<Sum>> recent_;
};

}  // namespace murmurate
