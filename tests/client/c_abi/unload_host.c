/* A host program in C that loads murmurate as a plugin and throws it out again, twenty times,
 * beside a live learner:  unload_host LIBRARY ADDRESS  */
#include <dirent.h>
#include <dlfcn.h>
#include <murmurate.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static int count_entries(const char* path) {
  int count = 0;
  DIR* folder = opendir(path);
  if (folder == NULL) return -1;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A thread that was joined is in /proc for a moment longer. */
static int comes_to(const char* path, int wanted) {
  for (const double deadline = now_s() + 5; count_entries(path) != wanted; sched_yield())
    if (now_s() > deadline) return 0;
  return 1;
}

/* A thread that has called the library, and ends when it is gone. */
struct visitor {
  pthread_t thread;
  mmr_status (*reward)(mmr_agent*, double);
  atomic_int called, may_end;
};
static void* visit(void* given) {
  struct visitor* visitor = given;
  if (visitor->reward(NULL, 1) != MMR_BAD_HANDLE) return given; /* and the error's text is kept */
  atomic_store(&visitor->called, 1);
  while (!atomic_load(&visitor->may_end)) sched_yield();
  return NULL;
}

/* 0, or the step that went wrong. */
static int play(void* library, const char* address) {
  mmr_client* (*connect_to)(const char*, const mmr_client_options*) = NULL;
  mmr_agent* (*agent_new)(mmr_client*, const mmr_agent_options*) = NULL;
  int32_t (*act)(mmr_agent*, const float*, uint64_t) = NULL;
  mmr_status (*get_stats)(mmr_client*, mmr_stats*) = NULL;
  mmr_status (*agent_close)(mmr_agent*) = NULL;
  mmr_status (*close_client)(mmr_client*) = NULL;
  /* As POSIX has it: an object pointer becomes a function pointer. */
  *(void**)&connect_to = dlsym(library, "mmr_connect");
  *(void**)&agent_new = dlsym(library, "mmr_agent_new");
  *(void**)&act = dlsym(library, "mmr_act");
  *(void**)&get_stats = dlsym(library, "mmr_get_stats");
  *(void**)&agent_close = dlsym(library, "mmr_agent_close");
  *(void**)&close_client = dlsym(library, "mmr_close");
  if (!connect_to || !agent_new || !act || !get_stats || !agent_close || !close_client) return 11;
  const mmr_space see = mmr_box(3), does = mmr_discrete(4);
  mmr_agent_options options = {.size = sizeof options};
  options.observation = &see;
  options.action = &does;
  mmr_client* client = connect_to(address, NULL);
  mmr_agent* agent = agent_new(client, &options);
  if (agent == NULL) return 12;
  mmr_stats stats = {.size = sizeof stats};
  const float numbers[3] = {1, 2, 3};
  const double deadline = now_s() + 10;
  while (stats.trajectories_sent < 2 || stats.version < 1) {
    if (act(agent, numbers, 3) < 0 || get_stats(client, &stats) != MMR_OK) return 13;
    if (now_s() > deadline) return 14;
  }
  if (agent_close(agent) != MMR_OK || close_client(client) != MMR_OK) return 15;
  return 0;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  /* libzmq and what it needs stay from here on, as in a host that has loaded them before. */
  void* first = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (first == NULL) return fprintf(stderr, "%s\n", dlerror()), 3;
  dlclose(first);
  const int threads = count_entries("/proc/self/task");
  const int files = count_entries("/proc/self/fd");
  for (int round = 0; round < 20; ++round) {
    struct visitor visitor = {0};
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 4;
    *(void**)&visitor.reward = dlsym(library, "mmr_reward");
    if (pthread_create(&visitor.thread, NULL, visit, &visitor) != 0) return 5;
    while (!atomic_load(&visitor.called)) sched_yield();
    const int wrong = play(library, arguments[2]);
    if (wrong != 0) return wrong;
    if (dlclose(library) != 0) return 6;
    if (dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) != NULL) return 7; /* it is really gone */
    void* result = NULL;
    atomic_store(&visitor.may_end, 1);
    if (pthread_join(visitor.thread, &result) != 0 || result != NULL) return 8;
    if (!comes_to("/proc/self/task", threads)) return 9;
    if (!comes_to("/proc/self/fd", files)) return 10;
  }
  return 0;
}
