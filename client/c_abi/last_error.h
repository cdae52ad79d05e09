// The text of mmr_last_error, and the border that no exception crosses.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "murmurate.h"
#include "murmurate/status.h"

namespace murmurate::c_abi {

/// Keeps both for this thread, in memory that needs no destructor: a library that is unloaded
/// leaves nothing that a thread's end would call. Returns `status`.
mmr_status Fail(mmr_status status, std::string_view text);
mmr_status Fail(const Status& status);
inline mmr_status Fail(std::string_view text) { return Fail(MMR_INVALID_ARGUMENT, text); }

/// Like Fail, for a call that makes an object and returns NULL: later calls given that NULL report
/// this reason.
void FailToMake();
/// A NULL handle: why there is none, if this thread's last failing call was to make one.
mmr_status FailForNull(std::string_view kind);

/// Returns the result of `work` (a status, or a number that is not negative), or the status of the
/// exception it threw.
template <typename Work>
auto Guard(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Fail(MMR_RESOURCE, "out of memory");
  } catch (const std::system_error& error) {
    return Fail(MMR_RESOURCE, error.what());
  } catch (const std::exception& error) {
    return Fail(MMR_INTERNAL, error.what());
  }
}

/// Guard for work that makes a handle: null with the reason kept. `work` returns a pointer, null
/// when it has called Fail.
template <typename Work>
auto GuardMaking(Work work) noexcept -> decltype(work()) {
  decltype(work()) made = nullptr;
  const mmr_status status = Guard([&]() -> mmr_status {
    made = work();
    return MMR_OK;
  });
  if (status != MMR_OK || made == nullptr) FailToMake();
  return made;
}

}  // namespace murmurate::c_abi
