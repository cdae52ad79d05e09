// What a real process holds in memory beside a learner that publishes a net of 7 MB again and
// again.
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "shared/model/parameter_layout.h"
#include "tests/client/test_learner.h"
#include "tests/sanitized.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kVersions = 30;

struct Held {  // KiB
  long before = 0, most = 0, now = 0, anonymous = 0, shared = 0, files = 0;
};

/// Plays until it has taken up kVersions.
Held PlayGame(const std::string& address) {
  Held held;
  const std::string command =
      std::string(MURMURATE_MEMORY_GAME) + " " + address + " " + std::to_string(kVersions);
  FILE* const game = popen(command.c_str(), "r");
  if (game == nullptr) return held;
  EXPECT_EQ(std::fscanf(game, "%ld %ld %ld %ld %ld %ld", &held.before, &held.most, &held.now,
                        &held.anonymous, &held.shared, &held.files),
            6);
  EXPECT_EQ(pclose(game), 0);
  return held;
}

class ClientMemory : public testing::TestWithParam<bool> {};

TEST_P(ClientMemory, IsThreeTimesTheWeightsAndEightMebibytesWhateverIsPublished) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  TestLearnerOptions options;
  options.model = PolicyAndValue{.spaces = {Box({96}), Discrete(8)},
                                 .trunk = {{1024, Activation::kTanh}, {1600, Activation::kTanh}}};
  options.release = true;
  options.shm = GetParam();
  const std::string address =
      "ipc://" +
      (std::filesystem::temp_directory_path() / ("mmr-memory-" + std::to_string(getpid())))
          .string() +
      (GetParam() ? "-shm" : "-network");
  TestLearner learner(address, options);
  std::atomic<bool> over{false};
  Held held;
  std::thread game([&] { held = PlayGame(address), over = true; });
  std::uint64_t version = 0;
  const std::int64_t start_ns = MonotonicNs();
  EXPECT_TRUE(Until(
      [&] {
        learner.PollOnce();
        const std::int64_t due_ns = start_ns + static_cast<std::int64_t>(version) * 20'000'000;
        if (learner.knows("default") && MonotonicNs() >= due_ns) {
          learner.Publish("default", ++version);
        }
      },
      [&] { return over.load(); }));
  learner.SayGoaway(false);
  game.join();
  const auto weights_kib = static_cast<long>(PayloadBytes(ParameterLayout(options.model)) / 1024);
  RecordProperty("weights_kib", static_cast<int>(weights_kib));
  std::printf(
      "KiB: weights %ld; before the client %ld; then at most %ld, at last %ld (anonymous %ld, "
      "shared memory %ld, files %ld)\n",
      weights_kib, held.before, held.most, held.now, held.anonymous, held.shared, held.files);
  EXPECT_GT(held.now - held.before, weights_kib) << "it plays them";
  EXPECT_LE(held.most - held.before, 3 * weights_kib + 8 * 1024);
}

INSTANTIATE_TEST_SUITE_P(SharedMemoryAndNetwork, ClientMemory, testing::Bool());

}  // namespace
}  // namespace murmurate
