// Misuse: a call that the program around the client may not make, such as an observation of another
// size than its space. The program is told which call, what was expected and what it gave, and that
// the mistake is its own; then it ends, because to play on would record what did not happen. A bug
// of the library fails a MURMURATE_CHECK; wrong data from outside the program gives a Status.
#pragma once

#include <string_view>

namespace murmurate {

/// Writes "murmurate: CALL: SENTENCE. ..." to stderr and aborts. Any thread.
[[noreturn]] void FailMisuse(std::string_view call, std::string_view sentence);

}  // namespace murmurate

/// `sentence` is not evaluated while `condition` holds.
#define MURMURATE_EXPECT(condition, call, sentence) \
  do {                                              \
    if (!(condition)) [[unlikely]] {                \
      ::murmurate::FailMisuse(call, sentence);      \
    }                                               \
  } while (false)
