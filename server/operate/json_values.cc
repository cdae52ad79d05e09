#include "server/operate/json_values.h"

#include "server/metrics/row_values.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

/// The parts of a key, between its dots.
std::vector<std::string> PartsOf(std::string_view key) {
  std::vector<std::string> parts;
  for (std::size_t dot = 0; dot != key.npos; key.remove_prefix(std::min(key.size(), dot + 1))) {
    dot = key.find('.');
    parts.emplace_back(key.substr(0, dot));
  }
  return parts;
}

}  // namespace

nlohmann::json ToJson(const MetricValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<std::decay_t<decltype(held)>, Histogram>)
          return {{"bounds", held.bounds}, {"counts", held.counts}, {"sum", held.sum}};
        else
          return held;
      },
      value.variant());
}

MetricValue ValueAt(const Json& json, std::string_view key) {
  const Json* at = &json;
  for (const std::string& part : PartsOf(key)) {
    if (!at->is_object() || !at->contains(part)) return {};
    at = &(*at)[part];
  }
  if (at->is_boolean()) return at->get<bool>();
  if (at->is_number_unsigned()) return at->get<std::uint64_t>();
  if (at->is_number()) return at->get<double>();
  return at->is_string() ? MetricValue(at->get<std::string>()) : MetricValue();
}

Json JsonOf(const Reading& reading, Json object) {
  object["name"] = reading.name();
  for (const MetricSample& sample : reading.samples()) {
    if (sample.metric->key.empty()) continue;
    Json* at = &object;
    for (const std::string& part : PartsOf(sample.metric->key))
      at = &(*at)[part == "*" ? ReportedName(sample) : part];
    *at = ToJson(sample.value);
  }
  return object;
}

}  // namespace murmurate
