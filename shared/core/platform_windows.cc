#include <windows.h>

#include <utility>

#include "shared/core/platform.h"

namespace murmurate {

std::thread StartThread(std::string name, std::function<void()> body) {
  return std::thread([name = std::move(name), body = std::move(body)] {
    const std::wstring wide(name.begin(), name.end());
    SetThreadDescription(GetCurrentThread(), wide.c_str());
    body();
  });
}

}  // namespace murmurate
