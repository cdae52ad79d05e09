// MURMURATE_CHECK: a promise inside the program. Broken, it aborts with the place and the sentence;
// bad input never reaches it (that is a Status).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace murmurate {
[[noreturn]] void FailCheck(const char* file, int line, const char* condition, const char* message);
}  // namespace murmurate

#define MURMURATE_CHECK(condition, message)                            \
  do {                                                                 \
    if (!(condition)) [[unlikely]] {                                   \
      ::murmurate::FailCheck(__FILE__, __LINE__, #condition, message); \
    }                                                                  \
  } while (false)

/// Returns from the calling function when `expression` is a failed Status.
#define MURMURATE_RETURN_IF_ERROR(expression)                                  \
  do {                                                                         \
    if (::murmurate::Status status_or_ok_ = (expression); !status_or_ok_.ok()) \
      return status_or_ok_;                                                    \
  } while (false)
