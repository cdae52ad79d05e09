#include <windows.h>

#include <new>

#include "client/platform.h"

namespace murmurate {

std::uint32_t ProcessId() { return GetCurrentProcessId(); }

// Nothing forks here.
HomeProcess::HomeProcess() : pid_(ProcessId()) {}
HomeProcess::~HomeProcess() = default;

ZeroPages::ZeroPages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = static_cast<std::byte*>(
      VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  if (data_ == nullptr) throw std::bad_alloc();
}

ZeroPages::~ZeroPages() {
  if (data_ != nullptr) VirtualFree(data_, 0, MEM_RELEASE);
}

void StandBehind() { (void)SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_LOWEST); }

void WriteToStderr(std::string_view text) {
  DWORD written = 0;
  (void)WriteFile(GetStdHandle(STD_ERROR_HANDLE), text.data(), static_cast<DWORD>(text.size()),
                  &written, nullptr);
}

void Nap(int microseconds) { Sleep(static_cast<DWORD>((microseconds + 999) / 1000)); }

}  // namespace murmurate
