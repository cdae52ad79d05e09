/* What the third version of the C interface added: it never changes. */
#include "tests/client/abi/abi_3.h"

#include <murmurate.h>
#include <stdint.h>
#include <stdio.h>

#define FUNCTION(name, result, ...)                                                    \
  if (!_Generic(&name, result(*)(__VA_ARGS__) : 1, default : 0) && differences++ == 0) \
  snprintf(text, size, "%s has another type than %s(%s)", #name, #result, #__VA_ARGS__)

int abi_3_differences(char* text, size_t size) {
  int differences = 0;
  FUNCTION(mmr_group_act_playing, mmr_status, mmr_group*, const mmr_observation*, const mmr_action*,
           const uint8_t*, uint64_t);
  FUNCTION(mmr_group_reward, mmr_status, mmr_group*, const double*, const uint8_t*, uint64_t);
  FUNCTION(mmr_privileged, mmr_status, mmr_agent*, const float*, uint64_t);
  FUNCTION(mmr_privileged_any, mmr_status, mmr_agent*, const mmr_observation*);
  FUNCTION(mmr_group_privileged, mmr_status, mmr_group*, const mmr_observation*, const uint8_t*,
           uint64_t);
  return differences;
}

const char* const* abi_3_functions(void) {
  static const char* const functions[] = {"mmr_group_act_playing", "mmr_group_reward",
                                          "mmr_privileged",        "mmr_privileged_any",
                                          "mmr_group_privileged",  NULL};
  return functions;
}
