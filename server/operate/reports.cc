#include "server/operate/reports.h"

#include <utility>

#include "server/metrics/model_metrics.h"

namespace murmurate {

void Reports::Add(const wire::ReportedNumber& number) {
  if (number.count == 0) return;
  if (recent_.size() >= kMaxNames && !recent_.contains(number.name)) return;
  Sum& sum = since_row_[number.name];
  sum.sum += number.sum;
  sum.count += number.count;
  std::deque<Sum>& recent = recent_[number.name];
  recent.push_back({number.sum, number.count});
  std::uint64_t count = 0;
  for (const Sum& some : recent) count += some.count;
  for (; count - recent.front().count >= kWindow; recent.pop_front()) count -= recent.front().count;
}

void Reports::AddLive(Reading* reading) const {
  for (const auto& [name, recent] : recent_) {
    Sum all;
    for (const Sum& some : recent) {
      all.sum += some.sum;
      all.count += some.count;
    }
    reading->Add(kReported, name, all.sum / static_cast<double>(all.count), all.count);
  }
}

void Reports::EndRow(Reading* reading) {
  for (const auto& [name, all] : std::exchange(since_row_, {}))
    reading->Add(kReported, name, all.sum / static_cast<double>(all.count), all.count);
}

}  // namespace murmurate
