// What the client asks of the operating system beside the rooms below; one source file a system.
#pragma once

#include <cstdint>

namespace murmurate {

std::uint32_t ProcessId();
/// Lets other threads run: our own threads only, never a game's.
void Nap(int microseconds);

}  // namespace murmurate
