/* murmurate for C, and for every language that can call C.
 *
 *   mmr_client* client = mmr_connect("tcp://127.0.0.1:7420", NULL);
 *   mmr_agent* agent = mmr_new_agent(client, mmr_box(4), mmr_discrete(2));
 *   if (agent == NULL) return fprintf(stderr, "%s\n", mmr_last_error()), 1;
 *   while (playing) {
 *     game_step(mmr_act(agent, observation, 4));
 *     mmr_reward(agent, reward);
 *     if (died) mmr_end(agent, MMR_TERMINATED, NULL, 0);
 *     if (timed_out) mmr_end(agent, MMR_TRUNCATED, observation, 4);
 *   }
 *   mmr_agent_close(agent);
 *   mmr_close(client);
 *
 * The words mean what they mean in murmurate/client.h, and the promise is the same: mmr_act,
 * mmr_reward and mmr_end take no lock, allocate nothing and make no system call (but one eventfd
 * write when a trajectory is handed over and the sender sleeps), whatever the learner does; the
 * paces that wait are the exception, and you ask for them. No learner is no error.
 *
 * ERRORS   A function that makes something gives NULL, one with a double gives your fallback, every
 *          other a negative mmr_status, and then mmr_last_error() says in one sentence what was
 *          wrong and what to do. A call that fails has changed nothing. Nothing aborts, throws or
 *          handles a signal; stderr gets warnings unless you take the log (mmr_client_options.log).
 * STRUCTS  Every struct begins with its size: set it to sizeof(the struct) and what you do not use
 *          to 0, which is always the default. A program built with an older header passes a smaller
 *          struct, and what is missing takes its default; of a larger one (a newer header than the
 *          library) the unknown rest must be 0. Arrays of structs lie size bytes apart.
 * MEMORY   Buffers are yours; they are read or written during the call and not kept. Text is UTF-8
 *          and ends with 0. What mmr_* makes, the *_close of its kind frees.
 * THREADS  Each function says who may call it. "Any": any thread, any time. "One": any thread, but
 *          not two at once with the same handle. The library starts two threads a client,
 *          mmr-client and mmr-weights (not with MMR_UPDATES_MANUAL), and libzmq two; all signals
 *          are blocked in them. mmr_open starts none. They are gone when mmr_close returns.
 *
 * FORK     In a forked child every call with the parent's handles fails with MMR_FORKED, and
 *          closing does nothing: make new ones there.
 *
 * UNLOAD   When every handle is closed, dlclose leaves nothing behind. A client that is still open
 *          when the library is unloaded, or the process exits, is stopped then, as mmr_close does
 *          it (at most 2 s); its memory stays. No thread may be inside a call of a library that is
 *          being unloaded.
 *
 * HANDLES  NULL and a handle of another kind are MMR_BAD_HANDLE. A closed handle must not be used.
 */
#ifndef MURMURATE_H_
#define MURMURATE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define MMR_NOTHING \
  {}
#else
#define MMR_NOTHING \
  { 0 }
#endif
#define MMR_API __attribute__((visibility("default")))

/* ---- Errors and versions ------------------------------------------------------------------ */

typedef int32_t mmr_status;
enum {
  MMR_OK = 0,
  MMR_INVALID_ARGUMENT = -1, /* what you passed */
  MMR_INVALID_DATA = -2,     /* a policy file that cannot be used */
  MMR_SECURITY = -3,
  MMR_RESOURCE = -4,    /* memory, disk, threads, file descriptors */
  MMR_UNAVAILABLE = -5, /* not now: try again */
  MMR_BAD_HANDLE = -6,
  MMR_FORKED = -7,
  MMR_INTERNAL = -8 /* a bug of murmurate */
};

/* Grows when something is added; nothing that is there ever changes under this library's name. */
#define MMR_ABI_VERSION 4
MMR_API uint32_t mmr_abi_version(void); /* the library's. Any. */
MMR_API const char* mmr_version(void);  /* "0.1.0". Any. */
/* The sentence and the status of this thread's last failing call, valid until its next failing
 * call; "" and MMR_OK before any. At most 1023 bytes. Any. */
MMR_API const char* mmr_last_error(void);
MMR_API mmr_status mmr_last_status(void);
MMR_API const char* mmr_status_name(mmr_status status); /* "invalid argument". Any. */

/* ---- Spaces: what an agent sees and what it may do (murmurate/spaces.h) -------------------- */

enum { MMR_BOX = 1, MMR_DISCRETE, MMR_MULTI_DISCRETE, MMR_MULTI_BINARY, MMR_DICT };
enum { MMR_FLOAT32 = 0, MMR_UINT8 = 1, MMR_INT32 = 2 }; /* MMR_INT32: categories and flags */
enum { MMR_UNBOUNDED = 0, MMR_BOUNDED_ALL = 1, MMR_BOUNDED_EACH = 2 };

typedef struct mmr_space {
  uint32_t size;
  int32_t kind;       /* MMR_BOX ... */
  int32_t element;    /* MMR_BOX: MMR_FLOAT32, or MMR_UINT8 (an image; observations) */
  int32_t n;          /* MMR_DISCRETE: choices; MMR_MULTI_BINARY: switches */
  int32_t dimensions; /* MMR_BOX: 1 to 8, of */
  int32_t shape[8];
  int32_t bounds;                 /* of an action that is an MMR_BOX: MMR_BOUNDED_ALL ... */
  float low_all, high_all;        /* MMR_BOUNDED_ALL */
  const float *low, *high;        /* MMR_BOUNDED_EACH: one for each number */
  const int32_t* choices;         /* MMR_MULTI_DISCRETE: of each variable */
  uint64_t choice_count;          /* its variables */
  const char* name;               /* of a leaf of an MMR_DICT: [a-z0-9_]{1,32} */
  const struct mmr_space* leaves; /* MMR_DICT: 1 to 32, each of another kind and with a name */
  uint64_t leaf_count;
} mmr_space;

static inline mmr_space mmr_space_of(int32_t kind) {
  mmr_space space = MMR_NOTHING;
  space.size = (uint32_t)sizeof(mmr_space);
  space.kind = kind;
  return space;
}
/* So many float32 numbers; change dimensions and shape for more than a row of them. */
static inline mmr_space mmr_box(int32_t numbers) {
  mmr_space space = mmr_space_of(MMR_BOX);
  space.dimensions = 1;
  space.shape[0] = numbers;
  return space;
}
/* An action of numbers that the game gets clipped to, or squashed into, [low, high]. */
static inline mmr_space mmr_box_between(int32_t numbers, float low, float high) {
  mmr_space space = mmr_box(numbers);
  space.bounds = MMR_BOUNDED_ALL;
  space.low_all = low;
  space.high_all = high;
  return space;
}
/* Bytes: rows of pixels, the channels of a pixel together. */
static inline mmr_space mmr_image(int32_t height, int32_t width, int32_t channels) {
  mmr_space space = mmr_box(height);
  space.element = MMR_UINT8;
  space.dimensions = 3;
  space.shape[1] = width;
  space.shape[2] = channels;
  return space;
}
static inline mmr_space mmr_discrete(int32_t n) {
  mmr_space space = mmr_space_of(MMR_DISCRETE);
  space.n = n;
  return space;
}
static inline mmr_space mmr_multi_discrete(const int32_t* choices, uint64_t variables) {
  mmr_space space = mmr_space_of(MMR_MULTI_DISCRETE);
  space.choices = choices;
  space.choice_count = variables;
  return space;
}
static inline mmr_space mmr_multi_binary(int32_t n) {
  mmr_space space = mmr_space_of(MMR_MULTI_BINARY);
  space.n = n;
  return space;
}
static inline mmr_space mmr_dict(const mmr_space* leaves, uint64_t count) {
  mmr_space space = mmr_space_of(MMR_DICT);
  space.leaves = leaves;
  space.leaf_count = count;
  return space;
}
static inline mmr_space mmr_named(const char* name, mmr_space leaf) {
  leaf.name = name;
  return leaf;
}

/* ---- The client ---------------------------------------------------------------------------- */

typedef struct mmr_client mmr_client;
typedef struct mmr_agent mmr_agent;
typedef struct mmr_group mmr_group;

enum { MMR_PACE_NEVER = 0, MMR_PACE_CREDIT = 1, MMR_PACE_LOCKSTEP = 2 };
enum { MMR_WITHOUT_RANDOM = 0, MMR_WITHOUT_DEFAULT = 1, MMR_WITHOUT_WAIT = 2 };
enum { MMR_UPDATES_AUTOMATIC = 0, MMR_UPDATES_MANUAL = 1 };
enum { MMR_LOG_INFO = 0, MMR_LOG_WARNING = 1, MMR_LOG_ERROR = 2 };

/* Called from mmr-client and mmr-weights, and from the thread inside mmr_connect, mmr_update,
 * mmr_get_stats or mmr_close; perhaps by two of them at once. It must return, and may call nothing
 * of this client. */
typedef void (*mmr_log_function)(void* user, int32_t level, const char* text);

typedef struct mmr_client_options {
  uint32_t size;
  int32_t pace;             /* MMR_PACE_...: what mmr_act may wait for */
  const char* name;         /* how the learner shows this process; NULL: "actor" */
  int32_t without_policy;   /* MMR_WITHOUT_...: what mmr_act does before it has weights */
  int32_t accept_reset;     /* 1: follow a learner that started afresh, though we hold weights */
  int32_t updates;          /* MMR_UPDATES_MANUAL: newer weights are taken up in mmr_update only */
  int32_t deterministic;    /* 1, mmr_open: greedy, the same bits on every x86-64 machine */
  const char* policy_path;  /* a policy file: played until the learner's weights arrive, or */
  const void* policy_bytes; /* its bytes; */
  uint64_t policy_size;
  mmr_log_function log; /* NULL: the last 64 lines wait for mmr_next_log, and warnings and errors
                           go to stderr, each sentence once (see quiet) */
  void* log_user;
  int32_t max_wait_ms; /* what waits (pace, without_policy) fails with MMR_UNAVAILABLE after so
                          long, having changed nothing: call again. 0: waits to the end */
  int32_t quiet;       /* 1: without a log function nothing is written to stderr either */
  /* "npc-*=npc boss-?=boss": mmr_agent_options.model is then what the game calls the agent, and the
   * first pattern that matches (* any letters, ? one) says which model it plays. NULL: none. */
  const char* models;
} mmr_client_options;

/* Returns at once, learner or not; NULL for bad arguments only. options NULL: all defaults. Any. */
MMR_API mmr_client* mmr_connect(const char* address, const mmr_client_options* options);
/* Plays options->policy_...: no socket, no thread, no learner. Any. */
MMR_API mmr_client* mmr_open(const mmr_client_options* options);
/* Stops and joins the threads: at most 2 s, usually milliseconds. Its agents play on and send
 * nothing; close them too. NULL: nothing. One, and no other call with the handle. */
MMR_API mmr_status mmr_close(mmr_client* client);

enum {
  MMR_STATE_NO_LEARNER = 0,
  MMR_STATE_WAITING_FOR_WEIGHTS = 1,
  MMR_STATE_LIVE = 2,
  MMR_STATE_DEGRADED = 3, /* playing on with what we have */
  MMR_STATE_REFUSED = 4
};
typedef struct mmr_state {
  uint32_t size;
  int32_t state; /* MMR_STATE_... */
  int32_t in_session;
  int32_t should_stop; /* the learner has ended for good: a game may end, too */
  char reason[496];    /* one sentence; "" when live */
} mmr_state;
MMR_API mmr_status mmr_get_state(mmr_client* client, mmr_state* state); /* Any. */
MMR_API const char* mmr_state_name(int32_t state);                      /* "no learner". Any. */

typedef struct mmr_stats { /* as ClientStats */
  uint32_t size, reserved;
  uint64_t steps, trajectories_sent, trajectories_dropped, steps_dropped, steps_given_up;
  uint64_t trajectories_refused, weights_received, version, reconnects;
  uint64_t trajectories_committed, steps_committed, trajectories_lost;
  uint64_t rewards_not_finite;
} mmr_stats;
MMR_API mmr_status mmr_get_stats(mmr_client* client, mmr_stats* stats); /* Any. */

/* A number that the learner sets for its games, or `fallback` while it has none of that name: read
 * it between the last episode's end and the next mmr_act. Any; no lock, no allocation. */
MMR_API double mmr_setting(mmr_client* client, const char* name, double fallback);
/* MMR_UPDATES_MANUAL: loads what has come; how many models play a newer version now. Packs on
 * this thread. 0 for other clients. One. */
MMR_API int32_t mmr_update(mmr_client* client);
/* Writes the policy of a model (NULL: "default") as held now, for policy_path. Any. */
MMR_API mmr_status mmr_save(mmr_client* client, const char* path, const char* model);
/* The oldest line that waits, cut to capacity - 1 bytes: 1, or 0 when there is none. Without a log
 * function only. level may be NULL. Any. */
MMR_API int32_t mmr_next_log(mmr_client* client, char* text, uint64_t capacity, int32_t* level);

/* ---- Agents: each is used by one thread at a time ------------------------------------------ */

/* All choices and switches (int32), and all numbers (float32), each in the order of the space's
 * parts; as many as the space has (mmr_get_shape), and NULL where it has none. */
typedef struct mmr_action {
  uint32_t size, reserved;
  int32_t* choices;
  uint64_t choice_count;
  float* numbers;
  uint64_t number_count;
} mmr_action;

typedef struct mmr_input { /* one input of an observation */
  uint32_t size;
  int32_t element;  /* MMR_FLOAT32: a box, MMR_UINT8: an image, MMR_INT32: categories and flags */
  const char* name; /* of the leaf; NULL where the space is no MMR_DICT */
  const void* values;
  uint64_t count;
} mmr_input;
typedef struct mmr_observation {
  uint32_t size, reserved;
  const mmr_input* inputs; /* in any order; that of the space is quickest */
  uint64_t input_count;
  const uint8_t* allowed; /* a byte for each choice of each discrete variable; NULL: everything */
  uint64_t allowed_count;
} mmr_observation;

typedef struct mmr_agent_options {
  uint32_t size, reserved;
  const mmr_space* observation;
  const mmr_space* action;
  const char* model; /* agents of one model share weights; NULL: "default" (see options.models) */
  const mmr_action* default_action; /* for MMR_WITHOUT_DEFAULT; NULL: zeros, or the nearest bound */
  const mmr_space* privileged;      /* what mmr_privileged shows the learner alone; NULL: nothing */
} mmr_agent_options;

/* NULL for spaces that are not supported, or other than those of this client's earlier agents of
 * the model. Any. */
MMR_API mmr_agent* mmr_agent_new(mmr_client* client, const mmr_agent_options* options);
static inline mmr_agent* mmr_new_agent(mmr_client* client, mmr_space observation,
                                       mmr_space action) {
  mmr_agent_options options = MMR_NOTHING;
  options.size = (uint32_t)sizeof(options);
  options.observation = &observation;
  options.action = &action;
  return mmr_agent_new(client, &options);
}
/* Hands over what it recorded. Before or after mmr_close of its client. NULL: nothing. One. */
MMR_API mmr_status mmr_agent_close(mmr_agent* agent);

/* Box of float32 numbers in, one choice out: 0 or more, or a status. Numbers that are not finite:
 * the policy sees zeros, and the trajectory is dropped and counted. One. */
MMR_API int32_t mmr_act(mmr_agent* agent, const float* observation, uint64_t numbers);
/* The same; allowed[i] 0 forbids choice i. One. */
MMR_API int32_t mmr_act_masked(mmr_agent* agent, const float* observation, uint64_t numbers,
                               const uint8_t* allowed, uint64_t choices);
/* Box of float32 numbers in, Box of numbers out. One. */
MMR_API mmr_status mmr_act_continuous(mmr_agent* agent, const float* observation, uint64_t numbers,
                                      float* action, uint64_t action_numbers);
/* Any spaces; writes into action's buffers. One. */
MMR_API mmr_status mmr_act_any(mmr_agent* agent, const mmr_observation* observation,
                               const mmr_action* action);

/* Adds to the reward of the last action. One. */
MMR_API mmr_status mmr_reward(mmr_agent* agent, double reward);
/* What only the learner's value network sees, in mmr_agent_options.privileged: of the next mmr_act,
 * or of an end that is MMR_TRUNCATED, and of those that follow until the next call; zeros before
 * the first. One Box of float32 numbers, or with _any any space (no mask). One. */
MMR_API mmr_status mmr_privileged(mmr_agent* agent, const float* numbers, uint64_t count);
MMR_API mmr_status mmr_privileged_any(mmr_agent* agent, const mmr_observation* privileged);
enum { MMR_TERMINATED = 0, MMR_TRUNCATED = 1 };
enum { MMR_NOT_SAID = 0, MMR_FAILURE = 1, MMR_SUCCESS = 2 };
/* The episode is over. MMR_TRUNCATED (a time limit) needs the observation life would have gone on
 * from; for MMR_TERMINATED it is not read: NULL, 0. One. */
MMR_API mmr_status mmr_end(mmr_agent* agent, int32_t how, const float* final_observation,
                           uint64_t numbers);
MMR_API mmr_status mmr_end_any(mmr_agent* agent, int32_t how, int32_t success,
                               const mmr_observation* final_observation);
/* The game overrode the last action: what really happened. One. */
MMR_API mmr_status mmr_took(mmr_agent* agent, int32_t choice);
MMR_API mmr_status mmr_took_any(mmr_agent* agent, const mmr_action* action);
/* The same of a person or a script who chose it with this log-probability: finite; of choices alone
 * at most 0; of numbers the log of a density in the game's units. Since interface 2. One. */
MMR_API mmr_status mmr_took_log_prob(mmr_agent* agent, int32_t choice, float log_prob);
MMR_API mmr_status mmr_took_any_log_prob(mmr_agent* agent, const mmr_action* action,
                                         float log_prob);
/* In mmr_act's place, where a person or a script plays: what it saw and what it did, recorded as a
 * step; `algorithm.name = "bc"` clones it. One. */
MMR_API mmr_status mmr_record(mmr_agent* agent, const float* observation, uint64_t numbers,
                              int32_t choice);
MMR_API mmr_status mmr_record_any(mmr_agent* agent, const mmr_observation* observation,
                                  const mmr_action* action);
/* mmr_record_any of so many samples, for a learner of labels ("supervised", "bc"): the buffers of
 * `observations` and `labels` hold a row for each of them, behind each other, and their counts are
 * those of one row. Nothing is carried from one sample to the next. None is dropped: it waits while
 * the learner gives no credit or is not there (at most max_wait_ms, then MMR_UNAVAILABLE),
 * `recorded` says how many samples went, and the next call begins with the one behind them.
 * `waited_s`: how long it waited. The client's pace is MMR_PACE_CREDIT. Since interface 4. One. */
MMR_API mmr_status mmr_record_samples(mmr_agent* agent, const mmr_observation* observations,
                                      const mmr_action* labels, uint64_t samples,
                                      uint64_t* recorded, double* waited_s);
/* Forgets the unfinished episode (quick-load). One. */
MMR_API mmr_status mmr_discard(mmr_agent* agent);
/* A named number of this episode; several add up; at most 16 names, known by their first 64
 * letters. One. */
MMR_API mmr_status mmr_report(mmr_agent* agent, const char* name, double value);
enum { MMR_TRAIN = 0, MMR_EVALUATE = 1, MMR_SILENT = 2 };
MMR_API mmr_status mmr_set_mode(mmr_agent* agent,
                                int32_t mode); /* from the next episode on. One. */

typedef struct mmr_shape { /* what an agent's buffers hold */
  uint32_t size;
  uint32_t inputs;              /* of the observation */
  uint64_t observation_numbers; /* of one float32 Box: what mmr_act takes; else 0 */
  uint64_t choices, numbers;    /* of an action: what mmr_action takes */
  uint64_t mask_bytes;
} mmr_shape;
MMR_API mmr_status mmr_get_shape(mmr_agent* agent, mmr_shape* shape); /* Any. */
typedef struct mmr_part {                                             /* one leaf of the action */
  uint32_t size;
  int32_t continuous; /* 1: among the numbers of an mmr_action, 0: among its choices */
  uint64_t first, count;
} mmr_part;
/* name NULL or "": the only part of a space that is no MMR_DICT. Any. */
MMR_API mmr_status mmr_find_part(mmr_agent* agent, const char* name, mmr_part* part);

/* ---- Groups: `size` agents of one simulator, played with one batched pass ------------------- */

MMR_API mmr_group* mmr_group_new(mmr_client* client, const mmr_agent_options* options,
                                 int32_t agents);     /* Any. */
MMR_API mmr_status mmr_group_close(mmr_group* group); /* its agents too. One. */
MMR_API int32_t mmr_group_size(mmr_group* group);     /* Any. */
/* The group's: for mmr_reward, mmr_end and the rest; not to be closed. Any. */
MMR_API mmr_agent* mmr_group_agent(mmr_group* group, int32_t i);
/* observations [agents][numbers], actions [agents], allowed [agents][choices] or NULL, 0: numbers
 * and choices are those of one agent. One, and no other call with its agents. */
MMR_API mmr_status mmr_group_act(mmr_group* group, const float* observations, uint64_t numbers,
                                 int32_t* actions, uint64_t agents, const uint8_t* allowed,
                                 uint64_t choices);
/* Any spaces: an observation and an action for each agent. One, as above. */
MMR_API mmr_status mmr_group_act_any(mmr_group* group, const mmr_observation* observations,
                                     const mmr_action* actions, uint64_t agents);
/* The same for the agents whose `playing` [agents] is not 0 (NULL: all). The others observe and
 * record nothing, and their actions are not written. One, as above. */
MMR_API mmr_status mmr_group_act_playing(mmr_group* group, const mmr_observation* observations,
                                         const mmr_action* actions, const uint8_t* playing,
                                         uint64_t agents);
/* mmr_privileged_any of each agent whose `playing` is not 0 (NULL: all): privileged [agents]. One,
 * as above. */
MMR_API mmr_status mmr_group_privileged(mmr_group* group, const mmr_observation* privileged,
                                        const uint8_t* playing, uint64_t agents);
/* mmr_reward of each agent whose `playing` is not 0 (NULL: all): rewards [agents].
 * One, as above. */
MMR_API mmr_status mmr_group_reward(mmr_group* group, const double* rewards, const uint8_t* playing,
                                    uint64_t agents);

#ifdef __cplusplus
}
#endif
#endif
