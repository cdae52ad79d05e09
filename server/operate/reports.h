// Reports: the numbers a game reports by name (Agent::Report), averaged over the episodes of a log
// interval, in reports.csv: steps,name,mean,count. The file appears with the first of them.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

/// One model's. One thread.
class Reports {
 public:
  static constexpr std::size_t kMaxNames = 256;  ///< more are left out
  static constexpr std::uint64_t kWindow = 100;  ///< episodes

  void Take(std::span<const wire::ReportedNumber> numbers);
  /// Of each name ever heard: over the last kWindow episodes that reported it, or a few more,
  /// because they come several at once.
  std::vector<std::pair<std::string, double>> Means() const;
  /// Appends a row for each name heard since the last call.
  Status Write(const std::string& folder, std::uint64_t steps);

 private:
  struct Sum {
    double sum = 0.0;
    std::uint64_t count = 0;
  };
  std::map<std::string, Sum> sums_;
  std::map<std::string, std::deque<Sum>> recent_;
};

}  // namespace murmurate
