// Commands of the documents that no session types.
#pragma once

#include <vector>

namespace murmurate {

struct NotTyped {
  const char* text;    ///< as PageCommand has it
  const char* reason;  ///< why a test cannot type it here, or which one does
};

const std::vector<NotTyped>& NotTypedCommands();

}  // namespace murmurate
