#include "server/schema/toml_value.h"

#include <set>

namespace murmurate {
namespace {

std::optional<double> AsNumber(const toml::node* node) {
  if (node == nullptr || !node->is_number()) return std::nullopt;
  return node->value<double>();
}

/// The schedule that a table holds; not set when it is none.
ConfigValue AsSchedule(const toml::table& table) {
  ConfigSchedule schedule;
  const auto from = AsNumber(table.get("from")), to = AsNumber(table.get("to"));
  if (!from || !to) return {};
  schedule.from = *from;
  schedule.to = *to;
  for (const auto& [key, node] : table) {
    if (key == "from" || key == "to") continue;
    if (key == "steps" && node.is_integer() && *node.value<std::int64_t>() > 0)
      schedule.steps = node.value<std::int64_t>();
    else if (key == "shape" && node.is_string())
      schedule.shape = *node.value<std::string>();
    else
      return {};
  }
  static const std::set<std::string> kShapes{"linear", "cosine", "exponential"};
  return kShapes.count(schedule.shape) ? ConfigValue(schedule) : ConfigValue();
}

/// The curriculum that a table holds; not set when it is none. MakeCurriculum judges what it says.
ConfigValue AsCurriculum(const toml::table& table) {
  ConfigCurriculum curriculum;
  const auto from = AsNumber(table.get("from")), to = AsNumber(table.get("to"));
  if (!from || !to) return {};
  curriculum.from = *from;
  curriculum.to = *to;
  for (const auto& [key, node] : table) {
    if (key == "from" || key == "to") continue;
    if (key == "step" && node.is_number())
      curriculum.step = *node.value<double>();
    else if (key == "when" && node.is_string())
      curriculum.when = *node.value<std::string>();
    else if (key == "episodes" && node.is_integer())
      curriculum.episodes = *node.value<std::int64_t>();
    else
      return {};
  }
  return curriculum;
}

template <typename T>
ConfigValue AsList(const toml::array& array) {
  std::vector<T> values;
  for (const toml::node& node : array) {
    const auto value = node.value_exact<T>();
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

/// Units as numbers when there is nothing else, else everything in words.
ConfigValue AsLayers(const toml::array& array) {
  ConfigValue units = AsList<std::int64_t>(array);
  if (!std::holds_alternative<std::monostate>(units)) return units;
  std::vector<std::string> layers;
  for (const toml::node& node : array) {
    const auto number = node.value_exact<std::int64_t>();
    const auto words = node.value_exact<std::string>();
    if (!number && !words) return {};
    layers.push_back(number ? "dense " + std::to_string(*number) : *words);
  }
  return layers;
}

ConfigValue AsNumbers(const toml::array& array) {
  std::vector<double> numbers;
  for (const toml::node& node : array) {
    const auto number = AsNumber(&node);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

/// Counts or durations.
ConfigValue AsSpans(const toml::array& array) {
  ConfigValue counts = AsList<std::int64_t>(array);
  return std::holds_alternative<std::monostate>(counts) ? AsList<std::string>(array) : counts;
}

}  // namespace

ConfigValue ToValue(const toml::node& node, const ConfigRule& rule) {
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) return *value;
  if (const auto value = node.value_exact<std::string>()) return *value;
  if (const auto* table = node.as_table())
    return rule.kind == ValueKind::kSetting && table->contains("when") ? AsCurriculum(*table)
                                                                       : AsSchedule(*table);
  const auto* array = node.as_array();
  if (array == nullptr) return {};
  switch (rule.kind) {
    case ValueKind::kLayers:
    case ValueKind::kNetwork:
      return AsLayers(*array);
    case ValueKind::kNumbers:
      return AsNumbers(*array);
    case ValueKind::kSpans:
      return AsSpans(*array);
    default:
      return AsList<std::string>(*array);
  }
}

}  // namespace murmurate
