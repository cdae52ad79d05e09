// A hook that fails as its argument says, in C++.
#include <stdexcept>
#include <string>

#include "murmurate_hook.h"

namespace {

std::string argument;

int Open(const char* given, const char*, void**) {
  argument = given;
  return argument == "fails to open" ? 5 : 0;
}

int AfterBatch(void*, const mmr_hook_event*) {
  if (argument == "throws") throw std::runtime_error("thrown by the hook");
  return 7;
}

const char* LastError(void*) {
  return argument == "returns" ? "the disk of the hook is full" : "it will not open";
}

constexpr mmr_hook_table kTable{sizeof(mmr_hook_table),
                                MMR_HOOK_ABI,
                                Open,
                                nullptr,
                                AfterBatch,
                                nullptr,
                                nullptr,
                                nullptr,
                                nullptr,
                                nullptr,
                                LastError};

}  // namespace

extern "C" const mmr_hook_table* murmurate_hook(void) { return &kTable; }
