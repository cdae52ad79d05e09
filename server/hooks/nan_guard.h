// The keys of the hook nan_guard that others ask for.
#pragma once

#include <cstdint>
#include <span>

#include "shared/core/enum_names.h"

namespace murmurate {

/// What is done when a model's numbers are no longer finite.
enum class OnNan : std::uint8_t {
  kStop,     ///< the run ends
  kRestore,  ///< the model goes back to its newest finite checkpoint, at a lower learning rate
};
inline constexpr EnumName<OnNan> kOnNanNames[] = {{OnNan::kStop, "stop"},
                                                  {OnNan::kRestore, "restore"}};
constexpr std::span<const EnumName<OnNan>> NamesOf(OnNan) { return kOnNanNames; }

}  // namespace murmurate
