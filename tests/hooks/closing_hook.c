/* A hook without `open` that notes the thread on which it is closed. Without the environment variable
 * MURMURATE_TEST_EVENTS its table has no function for an event. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "murmurate_hook.h"

int closed_times = 0;
pthread_t closed_on;

static int after_batch(void* self, const mmr_hook_event* event) {
  (void)self;
  (void)event;
  return 0;
}

static void close_hook(void* self) {
  (void)self;
  ++closed_times;
  closed_on = pthread_self();
}

const mmr_hook_table* murmurate_hook(void) {
  static mmr_hook_table table = {
      .size = sizeof(mmr_hook_table), .abi = MMR_HOOK_ABI, .close = close_hook};
  table.after_batch = getenv("MURMURATE_TEST_EVENTS") != NULL ? after_batch : NULL;
  return &table;
}
