#include "client/c_abi/last_error.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace murmurate::c_abi {
namespace {

struct LastError {
  char text[1024];
  mmr_status status;
  bool made_nothing;
};
thread_local LastError last_error;

mmr_status CodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return MMR_OK;
    case StatusCode::kInvalidArgument:
      return MMR_INVALID_ARGUMENT;
    case StatusCode::kInvalidData:
      return MMR_INVALID_DATA;
    case StatusCode::kSecurity:
      return MMR_SECURITY;
    case StatusCode::kResource:
    case StatusCode::kAlreadyRunning:
      return MMR_RESOURCE;
    case StatusCode::kUnavailable:
      return MMR_UNAVAILABLE;
    case StatusCode::kInternal:
      return MMR_INTERNAL;
  }
  return MMR_INTERNAL;
}

}  // namespace

mmr_status Fail(mmr_status status, std::string_view text) {
  const std::size_t size = std::min(text.size(), sizeof last_error.text - 1);
  std::memmove(last_error.text, text.data(), size);
  last_error.text[size] = 0;
  last_error.status = status;
  last_error.made_nothing = false;
  return status;
}

mmr_status Fail(const Status& status) { return Fail(CodeOf(status.code()), status.message()); }

void FailToMake() { last_error.made_nothing = true; }

mmr_status FailForNull(std::string_view kind) {
  std::string text(kind);
  if (last_error.made_nothing) {
    text += " is NULL, since the call that was to make it failed: ";
    text += last_error.text;
  } else {
    text += " is NULL";
  }
  return Fail(MMR_BAD_HANDLE, text);
}

}  // namespace murmurate::c_abi

using namespace murmurate::c_abi;

uint32_t mmr_abi_version(void) { return MMR_ABI_VERSION; }
const char* mmr_version(void) { return MURMURATE_VERSION; }
const char* mmr_last_error(void) { return last_error.text; }
mmr_status mmr_last_status(void) { return last_error.status; }

const char* mmr_status_name(mmr_status status) {
  switch (status) {
    case MMR_OK:
      return "ok";
    case MMR_INVALID_ARGUMENT:
      return "invalid argument";
    case MMR_INVALID_DATA:
      return "invalid data";
    case MMR_SECURITY:
      return "security";
    case MMR_RESOURCE:
      return "resource";
    case MMR_UNAVAILABLE:
      return "unavailable";
    case MMR_BAD_HANDLE:
      return "bad handle";
    case MMR_FORKED:
      return "forked";
    case MMR_INTERNAL:
      return "internal";
  }
  return "unknown";
}
