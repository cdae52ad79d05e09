/* What the second version of the C interface added: it never changes. */
#include "tests/client/abi/abi_2.h"

#include <murmurate.h>
#include <stdint.h>
#include <stdio.h>

#define FUNCTION(name, result, ...)                                                    \
  if (!_Generic(&name, result(*)(__VA_ARGS__) : 1, default : 0) && differences++ == 0) \
  snprintf(text, size, "%s has another type than %s(%s)", #name, #result, #__VA_ARGS__)

int abi_2_differences(char* text, size_t size) {
  int differences = 0;
  FUNCTION(mmr_took_log_prob, mmr_status, mmr_agent*, int32_t, float);
  FUNCTION(mmr_took_any_log_prob, mmr_status, mmr_agent*, const mmr_action*, float);
  return differences;
}

const char* const* abi_2_functions(void) {
  static const char* const functions[] = {"mmr_took_log_prob", "mmr_took_any_log_prob", NULL};
  return functions;
}
