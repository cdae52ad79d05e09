// A game that something happens to, at random moments:
//
//   restless c|cpp ADDRESS NAME play|unload|exit|fork SEED ROUNDS
//
// play    for ever; says "steps N sent N version N" every 20 ms
// unload  plays for 0 to 80 ms and is unloaded, with nothing, one or both of its handles closed;
//         ROUNDS times
// exit    plays for 0 to 150 ms, and exits with everything open
// fork    plays on while its children leave in one of kWays ways; ROUNDS times
//
// Says how long the longest leave took; the code is 0, or of what went wrong.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "tests/client/restless/game.h"
#include "tests/sanitized.h"

#ifdef __SANITIZE_ADDRESS__
/// What a host leaves open stays, and a forked child has not the stacks of its parent's threads.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
/// GCC 12's allocator of AddressSanitizer is forked with the locks that other threads hold, so that
/// a child's thread may wait for ever in malloc. No child connects anew there, which takes threads
/// and much memory, and so many that do not end are killed.
constexpr int kWays = 3, kChildrenToKill = 3;
#else
constexpr int kWays = 4, kChildrenToKill = 0;
#endif

namespace murmurate {
namespace {

namespace fs = std::filesystem;

struct Play {
  bool c;
  const char *program, *address, *name;
  int rounds;
  std::minstd_rand random;

  int Random(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
};

long Count(const char* folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

double SecondsOf(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void* Load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::exit(3);
  return library;
}

std::unique_ptr<RestlessGame> NewGame(const Play& play, const std::string& name) {
  if (!play.c) return NewCppGame(play.address, name);
  return NewCGame(Load(MURMURATE_SHARED), play.address, name);
}

int PlayOn(const Play& play) {
  const auto game = NewGame(play, play.name);
  for (;;) {
    PlayFor(*game, 20);
    const RestlessGame::Numbers now = game->Count();
    std::printf("steps %lu sent %lu version %lu\n", now.steps, now.sent, now.version);
    std::fflush(stdout);
  }
}

int Exit(Play& play) {
  const auto game = NewGame(play, play.name);
  PlayFor(*game, play.Random(150));
  std::exit(0);
}

/// What is to be unloaded, played with until then.
void* Fill(Play& play) {
  const int milliseconds = play.Random(80);
  if (!play.c) {
    void* plugin = Load(MURMURATE_PLUGIN);
    const auto enter =
        reinterpret_cast<void (*)(const char*, const char*, int)>(dlsym(plugin, "plugin_play"));
    enter(play.address, play.name, milliseconds);
    return plugin;
  }
  void* library = Load(MURMURATE_SHARED);
  const auto game = NewCGame(library, play.address, play.name);
  PlayFor(*game, milliseconds);
  const int closed = play.Random(6);
  if (closed == 1 || closed == 3) game->CloseAgent();
  if (closed == 2 || closed == 3) game->CloseClient();
  return library;
}

/// A joined thread is still counted for a moment after it has ended.
bool ThreadsComeTo(long threads) {
  for (int i = 0; i < 1000 && Count("/proc/self/task") != threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return Count("/proc/self/task") == threads;
}

int Unload(Play& play) {
  // libzmq and what it needs stay from here on, as in a host that has loaded them before.
  dlclose(Load(MURMURATE_SHARED));
  const long threads = Count("/proc/self/task");
  double longest_s = 0;
  for (int round = 0; round < play.rounds; ++round) {
    void* library = Fill(play);
    longest_s = std::max(longest_s, SecondsOf([&] { dlclose(library); }));
    const bool gone = dlopen(MURMURATE_SHARED, RTLD_NOW | RTLD_NOLOAD) == nullptr;
    if (play.c && !gone && !kSanitized) return 4;
    if (!ThreadsComeTo(threads)) return 5;
  }
  std::printf("left within %.3f s\n", longest_s);
  return 0;
}

/// What a forked child does; its code.
int Child(const Play& play, RestlessGame& game, int how, long files) {
  if (how == 0) {
    if (!game.SaysItIsForked()) return 11;
    game.CloseAgent();
    game.CloseClient();
    std::exit(0);
  }
  if (how == 1) std::exit(0);
  if (how == 2) {
    const std::string count = std::to_string(files);
    execl(play.program, play.program, "files", count.c_str(), nullptr);
    return 12;
  }
  const auto own = NewGame(play, std::string(play.name) + "-child");
  for (int i = 0; i < 100 && own->Count().sent == 0; ++i) PlayFor(*own, 20);
  if (own->Count().sent == 0) return 13;
  own->CloseAgent();
  own->CloseClient();
  return 0;
}

/// Plays until the child has ended; its state, as waitpid gives it. After 10 s it is killed, if it
/// may be.
int PlayUntilEnded(RestlessGame& game, pid_t child, bool may_kill) {
  int state = 0;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (waitpid(child, &state, WNOHANG) == 0) {
    PlayFor(game, 1);
    if (may_kill && std::chrono::steady_clock::now() > limit) kill(child, SIGKILL);
  }
  return state;
}

int Fork(Play& play, long files) {
  const auto game = NewGame(play, play.name);
  double longest_s = 0;
  int killed = 0;
  for (int round = 0; round < play.rounds; ++round) {
    PlayFor(*game, play.Random(40));
    const pid_t pid = fork();
    if (pid == 0) _exit(Child(play, *game, round % kWays, files));
    int state = 0;
    const bool may_kill = killed < kChildrenToKill;
    const double seconds = SecondsOf([&] { state = PlayUntilEnded(*game, pid, may_kill); });
    if (may_kill && WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL) {
      ++killed;
      continue;
    }
    if (!WIFEXITED(state)) return 100 + WTERMSIG(state);
    if (WEXITSTATUS(state) != 0) return WEXITSTATUS(state);
    if (round % kWays < 3) longest_s = std::max(longest_s, seconds);
  }
  const std::uint64_t sent = game->Count().sent;
  for (int i = 0; i < 500 && game->Count().sent < sent + 2; ++i) PlayFor(*game, 20);
  if (game->Count().sent < sent + 2) return 14;
  std::printf("left within %.3f s\n", longest_s);
  game->CloseAgent();
  game->CloseClient();
  return 0;
}

int Main(int count, char** arguments) {
  const long files = Count("/proc/self/fd");
  if (count == 3) return files == std::atol(arguments[2]) ? 0 : 15;  // "files": see Child
  if (count != 7) return 2;
  Play play{std::strcmp(arguments[1], "c") == 0,
            arguments[0],
            arguments[2],
            arguments[3],
            std::atoi(arguments[6]),
            std::minstd_rand(std::strtoul(arguments[5], nullptr, 10))};
  const std::string how = arguments[4];
  if (how == "play") return PlayOn(play);
  if (how == "unload") return Unload(play);
  if (how == "exit") return Exit(play);
  return how == "fork" ? Fork(play, files) : 2;
}

}  // namespace
}  // namespace murmurate

int main(int count, char** arguments) { return murmurate::Main(count, arguments); }
