// How a library room speaks: through a callback its owner gives it; never to stdout by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace murmurate {

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };

/// From murmurate's threads and inside Connect, Stats, Update, ~Client; never Act. Empty: silence
/// (of a Client: warnings on stderr, ClientOptions::quiet).
using LogCallback = std::function<void(LogLevel, std::string_view message)>;

}  // namespace murmurate
