#include "server/operate/reports.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace murmurate {

void Reports::Take(std::span<const wire::ReportedNumber> numbers) {
  for (const wire::ReportedNumber& number : numbers) {
    if (number.count == 0) continue;
    if (recent_.size() >= kMaxNames && !recent_.contains(number.name)) continue;
    Sum& sum = sums_[number.name];
    sum.sum += number.sum;
    sum.count += number.count;
    std::deque<Sum>& recent = recent_[number.name];
    recent.push_back({number.sum, number.count});
    std::uint64_t count = 0;
    for (const Sum& some : recent) count += some.count;
    for (; count - recent.front().count >= kWindow; recent.pop_front())
      count -= recent.front().count;
  }
}

std::vector<std::pair<std::string, double>> Reports::Means() const {
  std::vector<std::pair<std::string, double>> means;
  for (const auto& [name, recent] : recent_) {
    Sum all;
    for (const Sum& some : recent) {
      all.sum += some.sum;
      all.count += some.count;
    }
    means.emplace_back(name, all.sum / static_cast<double>(all.count));
  }
  return means;
}

Status Reports::Write(const std::string& folder, std::uint64_t steps) {
  if (sums_.empty()) return {};
  const std::string path = folder + "/reports.csv";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "ae"),
                                                             std::fclose);
  bool good = file != nullptr;
  if (good && std::ftell(file.get()) == 0)
    good = std::fputs("steps,name,mean,count\n", file.get()) >= 0;
  for (const auto& [name, sum] : sums_) {
    if (!good) break;
    good = std::fprintf(file.get(), "%llu,%s,%.9g,%llu\n", static_cast<unsigned long long>(steps),
                        name.c_str(), sum.sum / static_cast<double>(sum.count),
                        static_cast<unsigned long long>(sum.count)) > 0;
  }
  sums_.clear();
  if (good && std::fflush(file.get()) == 0) return {};
  return ResourceError(path + ": cannot be written (" + std::strerror(errno) +
                       "); free some disk space");
}

}  // namespace murmurate
