/* A hook of one's own: counts batches and episodes, and writes what it has counted into a file when
 * the run ends. The whole interface is murmurate_hook.h.
 *
 *   cc -shared -fPIC -o libcount_batches.so count_batches.c    (in a clone: -I server/hooks/include)
 *
 *   [[hook]]
 *   kind = "library"
 *   path = "libcount_batches.so"
 *   argument = "counts.txt"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "murmurate_hook.h"

typedef struct counts {
  char file[4096];
  unsigned long batches, episodes, checkpoints;
  double last_mean_return;
} counts;

static int open_counts(const char* argument, const char* run_folder, void** self) {
  counts* c = calloc(1, sizeof *c);
  if (c == NULL) return 1;
  snprintf(c->file, sizeof c->file, "%s/%s", run_folder,
           argument[0] != '\0' ? argument : "counts.txt");
  *self = c;
  return 0;
}

static int after_batch(void* self, const mmr_hook_event* event) {
  counts* c = self;
  ++c->batches;
  for (size_t i = 0; i < event->number_count; ++i)
    if (strcmp(event->numbers[i].name, "rollout/ep_rew_mean") == 0)
      c->last_mean_return = event->numbers[i].value;
  return 0;
}

static int episode(void* self, const mmr_hook_event* event) {
  (void)event;
  ++((counts*)self)->episodes;
  return 0;
}

static int checkpoint(void* self, const mmr_hook_event* event) {
  ((counts*)self)->checkpoints += event->good;
  return 0;
}

static int end(void* self, const mmr_hook_event* event) {
  const counts* c = self;
  FILE* file = fopen(c->file, "w");
  if (file == NULL) return 1;
  fprintf(file,
          "%lu batches, %lu episodes, %lu checkpoints, mean return %.1f, step %llu, lost %llu\n",
          c->batches, c->episodes, c->checkpoints, c->last_mean_return,
          (unsigned long long)event->steps, (unsigned long long)event->dropped);
  return fclose(file);
}

static void close_counts(void* self) { free(self); }

const mmr_hook_table* murmurate_hook(void) {
  static const mmr_hook_table table = {
      .size = sizeof(mmr_hook_table),
      .abi = MMR_HOOK_ABI,
      .open = open_counts,
      .after_batch = after_batch,
      .checkpoint = checkpoint,
      .episode = episode,
      .end = end,
      .close = close_counts,
  };
  return &table;
}
