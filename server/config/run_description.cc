#include "server/config/run_description.h"

#include <algorithm>
#include <array>

#include "server/config/config_text.h"

namespace murmurate {
namespace {

constexpr std::array<std::string_view, 11> kLearning = {
    "environment.", "model.",          "algorithm.", "optimizer.", "replay.",   "parameters.",
    "settings.",    "run.environment", "run.seed",   "run.actors", "run.agents"};

MetricValue ToMetricValue(const ConfigValue& value) {
  if (const auto* yes = std::get_if<bool>(&value)) return *yes;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return ToToml(value);
}

}  // namespace

RunDescription DescribeRun(const Config& config) {
  RunDescription description{.config = ResolvedToml(config), .settings = {}};
  for (const auto& [path, entry] : config.entries().values) {
    const auto begins = [&path = path](std::string_view name) { return path.starts_with(name); };
    if (!std::holds_alternative<std::monostate>(entry.value) &&
        std::ranges::any_of(kLearning, begins))
      description.settings.emplace_back(path, ToMetricValue(entry.value));
  }
  return description;
}

}  // namespace murmurate
