#include "client/c_abi/handles.h"

namespace murmurate::c_abi {
namespace {

const char* NameOf(HandleKind kind) {
  switch (kind) {
    case HandleKind::kClient:
      return "the client";
    case HandleKind::kAgent:
      return "the agent";
    case HandleKind::kGroup:
      return "the group";
  }
  return nullptr;
}

}  // namespace

mmr_status RefuseHandle(const Handle* handle, HandleKind expected) {
  return Guard([&]() -> mmr_status {
    const std::string name = NameOf(expected);
    if (handle == nullptr) return FailForNull(name);
    if (handle->kind == expected) {
      return Fail(MMR_FORKED, name + " belongs to process " + std::to_string(handle->home->pid()) +
                                  ", which forked this one: connect anew here");
    }
    const char* other = NameOf(handle->kind);
    return Fail(MMR_BAD_HANDLE, other != nullptr ? name + " was expected, and this is " + other
                                                 : name + " is closed, or was never made");
  });
}

}  // namespace murmurate::c_abi
