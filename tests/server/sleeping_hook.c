/* A hook that sleeps for a minute in its first call, which is the last where a run is short. */
#include <stddef.h>
#include <unistd.h>

#include "murmurate_hook.h"

static int sleeps(void* self, const mmr_hook_event* event) {
  (void)self;
  (void)event;
  sleep(60);
  return 0;
}

const mmr_hook_table* murmurate_hook(void) {
  static const mmr_hook_table table = {
      .size = sizeof(mmr_hook_table), .abi = MMR_HOOK_ABI, .after_batch = sleeps, .end = sleeps};
  return &table;
}
