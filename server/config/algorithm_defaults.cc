#include "server/config/algorithm_defaults.h"

#include <algorithm>
#include <type_traits>

namespace murmurate {

ConfigEntry DefaultOf(const ConfigRule& rule, const AlgorithmKind& kind) {
  const auto own = std::ranges::find_if(kind.defaults, [&](const KeyDefault& one) {
    return one.section == rule.section && one.key == rule.key;
  });
  if (own == kind.defaults.end()) return {rule.standard, "default"};
  return {std::visit([](const auto& value) -> ConfigValue { return value; }, own->value),
          "default of " + kind.name};
}

KeyValue ToKeyValue(const ConfigValue& value) {
  return std::visit(
      [](const auto& held) -> KeyValue {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::string>) return held;
        return {};
      },
      value);
}

}  // namespace murmurate
