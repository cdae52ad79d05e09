// Reports: the numbers a game reports by name (Agent::Report), averaged over the episodes of a log
// interval, in reports.csv: steps,name,mean,count. The file appears with the first of them.
#pragma once

#include <map>
#include <span>
#include <string>

#include "murmurate/status.h"
#include "shared/wire/messages.h"

namespace murmurate {

/// One model's. One thread.
class Reports {
 public:
  static constexpr std::size_t kMaxNames = 256;  ///< of an interval; more are left out

  void Take(std::span<const wire::ReportedNumber> numbers);
  /// Appends a row for each name heard since the last call.
  Status Write(const std::string& folder, std::uint64_t steps);

 private:
  struct Sum {
    double sum = 0.0;
    std::uint64_t count = 0;
  };
  std::map<std::string, Sum> sums_;
};

}  // namespace murmurate
