// One line of the text form of Spaces: ToText and the messages of CheckSpaces share it.
#pragma once

#include <string>
#include <string_view>

#include "murmurate/spaces.h"

namespace murmurate {

enum class Side : std::uint8_t { kObservation, kAction, kPrivileged };

inline constexpr std::size_t kMaxSpacesText = 4096;
inline constexpr std::size_t kMaxSpaceDimensions = 8;
inline constexpr int kMaxSpaceLeaves = 32;
inline constexpr int kMaxSpaceNumbers = 65536;  ///< of an action; categories and choices
/// Of an observed box: a camera of 1080 x 1920 fits as bytes in one color.
inline constexpr int kMaxSeenNumbers = 1 << 20, kMaxSeenBytes = 1 << 22;
inline constexpr int kMaxSpaceChoices = 4096;

/// "observation", "action.turn".
std::string LeafPath(Side side, std::string_view name);
/// Formats a leaf's type: "float32 4", "discrete 2". It follows the leaf's path in messages.
std::string LeafText(Side side, const Space& leaf);

}  // namespace murmurate
