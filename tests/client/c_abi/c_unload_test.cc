// libmurmurate.so as a plugin: what it exports, and that nothing of it stays behind.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>

#include "tests/client/abi/abi_1.h"
#include "tests/client/abi/abi_2.h"
#include "tests/client/abi/abi_3.h"
#include "tests/client/abi/abi_4.h"
#include "tests/client/c_abi/stage.h"
#include "tests/sanitized.h"

extern char** environ;

namespace murmurate {
namespace {

/// The output of a command line of ours.
std::string OutputOf(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  for (std::size_t size; (size = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), size);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(CLibrary, ExportsTheFunctionsOfItsInterfaceAndNothingElse) {
  std::istringstream table(OutputOf("nm -D --defined-only " MURMURATE_SHARED));
  std::set<std::string> exported;
  std::string address, kind, name;
  while (table >> address >> kind >> name) exported.insert(name);
  std::set<std::string> released;
  for (int i = 0; abi_1_functions()[i] != nullptr; ++i) released.insert(abi_1_functions()[i]);
  for (int i = 0; abi_2_functions()[i] != nullptr; ++i) released.insert(abi_2_functions()[i]);
  for (int i = 0; abi_3_functions()[i] != nullptr; ++i) released.insert(abi_3_functions()[i]);
  for (int i = 0; abi_4_functions()[i] != nullptr; ++i) released.insert(abi_4_functions()[i]);
  for (const std::string& one : released) EXPECT_TRUE(exported.contains(one)) << one << " is gone";
  for (const std::string& one : exported) EXPECT_TRUE(one.starts_with("mmr_")) << one;
}

TEST(CLibrary, IsLoadedAndUnloadedTwentyTimesBesideALiveLearner) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's runtime does not let go of libraries";
  const std::string address = FreshAddress();
  TestLearner learner(address, {.trajectory_length = 4});
  const std::string output = testing::TempDir() + "unload-" + std::to_string(getpid());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  std::string host = MURMURATE_UNLOAD_HOST, library = MURMURATE_SHARED, at = address;
  char* arguments[] = {host.data(), library.data(), at.data(), nullptr};
  pid_t pid = -1;
  ASSERT_EQ(posix_spawn(&pid, host.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  bool published = false;
  int state = 0;
  bool over = false;
  for (int tens = 0; tens < 6 && !over; ++tens) {
    over = Until(
        [&] {
          learner.PollOnce();
          if (!published && learner.knows("default")) learner.Publish("default", 1);
          published = learner.knows("default");
        },
        [&] { return waitpid(pid, &state, WNOHANG) == pid; });
  }
  if (!over) kill(pid, SIGKILL), waitpid(pid, &state, 0);
  EXPECT_TRUE(over);
  EXPECT_TRUE(WIFEXITED(state)) << "signal " << WTERMSIG(state);
  EXPECT_EQ(WEXITSTATUS(state), 0) << "the line of unload_host.c that returns this";
  EXPECT_EQ(std::filesystem::file_size(output), 0u) << "it wrote to stdout";
  std::filesystem::remove(output);
}

TEST(CLibrary, StartsTwoNamedThreadsAClientAndLeavesNone) {
  const auto before = ThreadNames();
  mmr_client* client = mmr_connect(FreshAddress().c_str(), nullptr);
  EXPECT_TRUE(Soon([] { return CountThreads("mmr-client") == 1; }));
  EXPECT_TRUE(Soon([] { return CountThreads("mmr-weights") == 1; }));
  EXPECT_EQ(ThreadNames().size(), before.size() + 4) << "two of ours, two of libzmq";
  mmr_client_options options = Options();
  options.updates = MMR_UPDATES_MANUAL;
  mmr_client* manual = mmr_connect(FreshAddress().c_str(), &options);
  EXPECT_TRUE(Soon([] { return CountThreads("mmr-client") == 2; }));
  EXPECT_EQ(CountThreads("mmr-weights"), 1);
  mmr_close(manual);
  mmr_close(client);
  EXPECT_EQ(ThreadNames(), before);
}

}  // namespace
}  // namespace murmurate
