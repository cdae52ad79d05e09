#include "client/misuse.h"

#include <cstdio>
#include <cstdlib>

namespace murmurate {

void FailMisuse(std::string_view call, std::string_view sentence) {
  std::fprintf(stderr,
               "murmurate: %.*s: %.*s. The mistake is in the program that makes this call, and the "
               "program ends here.\n",
               static_cast<int>(call.size()), call.data(), static_cast<int>(sentence.size()),
               sentence.data());
  std::abort();
}

}  // namespace murmurate
