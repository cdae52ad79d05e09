// The operating system's services that this room uses; one source file a system (platform_*.cc).
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace murmurate {

/// A thread of this name (at most 15 characters, in debuggers and lists of threads) in which no
/// signal ever lands. Throws std::system_error when the system has no thread to give.
std::thread StartThread(std::string name, std::function<void()> body);

}  // namespace murmurate
