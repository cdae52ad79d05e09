/* The parameter server of murmurate, for a program that has its own loss: it trains named arrays
 * together with others, by any update rule. C, and every language that can call C; C++ has
 * murmurate/parameters.h, Python murmurate.Parameters. Link with -lmurmurate-parameters.
 *
 *   murmurate params own-program --shard 0          (the server; docs/parameters.md)
 *
 *   float weights[10], bias[1], dw[10], db[1];
 *   const int32_t ten = 10, one = 1;
 *   mmr_array arrays[] = {mmr_array_of("weights", weights, 1, &ten),
 *                         mmr_array_of("bias", bias, 1, &one)};
 *   const float* gradients[] = {dw, db};
 *   mmr_parameters* p = mmr_parameters_open("ipc:///tmp/murmurate-own", arrays, 2, NULL);
 *   if (p == NULL) return fprintf(stderr, "%s\n", mmr_parameters_last_error()), 1;
 *   mmr_parameters_pull(p);
 *   while (mmr_parameters_wait(p, -1) == 1 && steps-- > 0) {
 *     gradients_at(weights, bias, dw, db);
 *     mmr_parameters_push(p, gradients, 2, 0.01);
 *   }
 *   mmr_parameters_close(p);
 *
 * THE MODEL   is the list of arrays: float32 in C order, in your memory, which stays where it is
 *          until mmr_parameters_close. All workers of a model have the same names and shapes in the
 *          same order. It begins with the numbers of worker 0.
 * THE RULE    is the shards' ([parameters] of their config); the worker asks for it. Under a rule in
 *          gradient form mmr_parameters_push is all there is. Under one in delta form or an elastic
 *          one step the arrays yourself and call mmr_parameters_exchange, or let push step them.
 * WAITING     pull, push and exchange begin and return; mmr_parameters_wait finishes: only it, and
 *          push by a local step, write the arrays. What you compute in between overlaps the
 *          exchange. A shard that is away is waited for; timeout_ms bounds a wait, and another thread
 *          or a signal handler ends it by mmr_parameters_interrupt.
 * RESTARTS    A shard that is killed and started again from its checkpoint gets again what it lacks.
 *          A worker that is started again with its number is the same worker (within 3 s of its
 *          death it waits); one that is gone is not waited for after 3 s.
 *
 * Errors, structs and memory as in murmurate.h; the sentence is mmr_parameters_last_error's. One
 * thread at a time uses a handle, but for mmr_parameters_interrupt. Handles do not survive a fork.
 */
#ifndef MURMURATE_PARAMETERS_H_
#define MURMURATE_PARAMETERS_H_

#include "murmurate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mmr_parameters mmr_parameters;

typedef struct mmr_array {
  uint32_t size;
  int32_t dimensions;   /* 0 to 8; 0: one number */
  const char* name;     /* 1 to 128 printable characters of ASCII without spaces */
  const int32_t* shape; /* so many sizes of 1 or more; read during the call */
  float* values;        /* yours; written by wait */
} mmr_array;

static inline mmr_array mmr_array_of(const char* name, float* values, int32_t dimensions,
                                     const int32_t* shape) {
  mmr_array array = MMR_NOTHING;
  array.size = (uint32_t)sizeof(mmr_array);
  array.dimensions = dimensions;
  array.name = name;
  array.shape = shape;
  array.values = values;
  return array;
}

typedef struct mmr_parameters_options {
  uint32_t size;
  uint32_t worker;       /* a number of its own among the model's workers, from 0 */
  const char* model;     /* its name at the shards; NULL: "default" */
  const char* optimizer; /* of the local steps of push: "sgd" (NULL), "momentum", "adam", "rmsprop",
                            "adagrad", with their usual numbers */
  double max_grad_norm;  /* each gradient is clipped to it; 0: never */
  int32_t overlap;       /* 1: you step the arrays also between exchange and wait */
  int32_t messages_only; /* 1: no shared memory on one host */
  /* Gets each warning (level 2) and what a person may want to know (1), during your calls; NULL:
   * warnings go to stderr. */
  void (*log)(void* user, int32_t level, const char* text);
  void* log_user;
} mmr_parameters_options;

typedef struct mmr_parameters_report {
  uint32_t size;
  int32_t window;        /* gradients between two exchanges */
  uint64_t version;      /* merges of the first shard when the arrays were read last */
  uint64_t pushes;       /* exchanges that were answered */
  uint64_t late;         /* of them those that came after their round and changed nothing */
  uint64_t kept;         /* pushes that are in a checkpoint of every shard */
  double staleness;      /* of the last exchange: merges of others since the arrays were read */
  double staleness_mean; /* of all */
  double staleness_max;
  double wait_s;   /* seconds inside mmr_parameters_wait */
  char rule[16];   /* "sync"; "" before the first pull is finished */
  char waits[240]; /* the shard that is waited for, and what may be done; "": none */
} mmr_parameters_report;

/* A worker of the shards at `addresses` (several: in the order of their numbers, separated by
 * commas), which need not be there yet. */
MMR_API mmr_parameters* mmr_parameters_open(const char* addresses, const mmr_array* arrays,
                                            uint64_t count, const mmr_parameters_options* options);
/* Leaves the model. NULL is nothing to close. */
MMR_API mmr_status mmr_parameters_close(mmr_parameters* parameters);

/* Begins to read the center into the arrays; the first joins. MMR_UNAVAILABLE: something is under
 * way, wait for it first (so do push and exchange). */
MMR_API mmr_status mmr_parameters_pull(mmr_parameters* parameters);
/* A gradient, one pointer for each array; nothing is kept of it. Rules with local steps step the
 * arrays by it; when the window is full an exchange begins, else wait has nothing to do.
 * `learning_rate` is that of the local step, and of the shards' optimizer. MMR_INVALID_ARGUMENT: a
 * number is not finite, and nothing was pushed. */
MMR_API mmr_status mmr_parameters_push(mmr_parameters* parameters, const float* const* gradients,
                                       uint64_t count, double learning_rate);
/* Begins an exchange now. Delta form and elastic rules: of the arrays as they are, after `steps`
 * steps of yours. Gradient form: of a window that is not full yet. */
MMR_API mmr_status mmr_parameters_exchange(mmr_parameters* parameters, int32_t steps);
/* 1: nothing is under way, and the arrays have the answer. 0: timeout_ms is over (-1: never).
 * MMR_UNAVAILABLE: it was interrupted. Any other error is a refusal by a shard, and final. */
MMR_API int32_t mmr_parameters_wait(mmr_parameters* parameters, int32_t timeout_ms);

/* What the exchanges were, and what is waited for; set report->size first. */
MMR_API mmr_status mmr_parameters_get_report(mmr_parameters* parameters,
                                             mmr_parameters_report* report);
/* Ends every wait of this handle, now and from now on. Any thread; a signal handler. */
MMR_API mmr_status mmr_parameters_interrupt(mmr_parameters* parameters);
/* The sentence of this thread's last call that failed; "" before any. */
MMR_API const char* mmr_parameters_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
