#include <windows.h>

#include "client/platform.h"

namespace murmurate {

std::uint32_t ProcessId() { return GetCurrentProcessId(); }

// Nothing forks here.
HomeProcess::HomeProcess() : pid_(ProcessId()) {}
HomeProcess::~HomeProcess() = default;

void StandBehind() { (void)SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE); }

void Nap(int microseconds) { Sleep(static_cast<DWORD>((microseconds + 999) / 1000)); }

}  // namespace murmurate
