// Events of a run as JSON, as a command is fed them: one object a line (docs/hooks.md).
#pragma once

#include <cstdint>
#include <string>

#include "server/hooks/hook_event.h"

namespace murmurate {

/// One line with its end. `lost`: events so far that the hook was never given.
std::string JsonLineOf(const HookEvent& event, std::uint64_t lost);
/// The line that each process of a command is fed first.
std::string JsonBegin(const std::string& hook, const std::string& folder);

}  // namespace murmurate
