/* A hook of your own for a murmurate learner: a shared library that exports one function,
 *
 *   const mmr_hook_table* murmurate_hook(void);
 *
 * and is named in the config:
 *
 *   [[hook]]
 *   kind = "library"
 *   path = "libmy_hook.so"
 *   argument = "anything"
 *
 * THREAD   All functions of the table are called on one thread of the hook's own, one after the
 *          other, never on one that learns or receives experience. murmurate_hook itself is called
 *          on that thread, too, before the others.
 * TIME     A call may take as long as it likes: training does not wait for it. Events that come
 *          meanwhile wait in a queue of `queue` places (1024); those that find no place are lost,
 *          and counted in `dropped`. At the end of the run the hook has `end_s` seconds (5) for all
 *          that still waits, for `end` and for `close`; a call that has not returned half a second
 *          later is left behind, and the process ends without it. A run that could not begin has
 *          no `end`.
 * ORDER    For each batch: before_batch, version, an `episode` for each that ended in it,
 *          after_batch. `checkpoint` comes when one has been tried. `end` is the last.
 * ERRORS   0 is success. Anything else disables the hook: it is said in one line of the log, with
 *          what last_error gives, and nothing but `close` is called any more. The same holds for a
 *          C++ exception that leaves a function. A crash (a signal) ends the learner: what must
 *          not do so belongs into a command.
 * MEMORY   Events and all that they point to are the learner's, and valid until the call returns.
 *          What `last_error` gives is the hook's, and valid until its next call.
 *
 * A released struct only grows at its end: look at `size` before you read what was added later.
 */
#ifndef MURMURATE_HOOK_H_
#define MURMURATE_HOOK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a table's `abi` has to be. */
#define MMR_HOOK_ABI 1

typedef struct mmr_hook_number {
  const char* name; /* "rollout/ep_rew_mean": a column of progress.csv */
  double value;
} mmr_hook_number;

typedef struct mmr_hook_event {
  uint32_t size;                  /* of this struct, in bytes */
  uint32_t finite;                /* after_batch: 1: its losses and gradients were finite numbers */
  const char* model;              /* its name; of `end`: that of the run's first model, or "" */
  uint64_t steps;                 /* learned from, by the run in all its lives */
  uint64_t environment_steps;     /* that actors took */
  uint64_t version;               /* of the weights */
  uint64_t dropped;               /* events so far that this hook was never given */
  const mmr_hook_number* numbers; /* after_batch, end: the metrics that have a value */
  size_t number_count;
  double episode_return;   /* episode: the raw one */
  uint32_t episode_length; /* episode: steps */
  int32_t episode_success; /* episode: 1: yes, 0: no, -1: the game did not say */
  const char* text;        /* checkpoint: its folder; end: why the run ends; else "" */
  uint32_t good;           /* checkpoint: 1: it is on the disk and verified */
  uint32_t reserved;
} mmr_hook_event;

/* Any function may be NULL, except that one of the events must be there. `self` is what `open`
 * left there; NULL before. */
typedef struct mmr_hook_table {
  uint32_t size; /* sizeof(mmr_hook_table) */
  uint32_t abi;  /* MMR_HOOK_ABI */
  int (*open)(const char* argument, const char* run_folder, void** self);
  int (*before_batch)(void* self, const mmr_hook_event* event);
  int (*after_batch)(void* self, const mmr_hook_event* event);
  int (*version)(void* self, const mmr_hook_event* event);
  int (*checkpoint)(void* self, const mmr_hook_event* event);
  int (*episode)(void* self, const mmr_hook_event* event);
  int (*end)(void* self, const mmr_hook_event* event);
  void (*close)(void* self); /* the last call, also after a failure */
  const char* (*last_error)(void* self);
} mmr_hook_table;

/* Exported by the library. */
const mmr_hook_table* murmurate_hook(void);

#ifdef __cplusplus
}
#endif

#endif /* MURMURATE_HOOK_H_ */
