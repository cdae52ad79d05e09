/* What the fourth version of the C interface added: it never changes. */
#include "tests/client/abi/abi_4.h"

#include <murmurate.h>
#include <stdint.h>
#include <stdio.h>

#define FUNCTION(name, result, ...)                                                    \
  if (!_Generic(&name, result(*)(__VA_ARGS__) : 1, default : 0) && differences++ == 0) \
  snprintf(text, size, "%s has another type than %s(%s)", #name, #result, #__VA_ARGS__)

int abi_4_differences(char* text, size_t size) {
  int differences = 0;
  FUNCTION(mmr_record_samples, mmr_status, mmr_agent*, const mmr_observation*, const mmr_action*,
           uint64_t, uint64_t*, double*);
  return differences;
}

const char* const* abi_4_functions(void) {
  static const char* const functions[] = {"mmr_record_samples", NULL};
  return functions;
}
