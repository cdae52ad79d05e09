// Networks of every kind of layer on several threads: what one thread computes, with the rows cut
// in ways that never come out even.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/network/actor_critic.h"
#include "server/network/network_share.h"
#include "shared/model/network_plan.h"
#include "tests/allocations.h"
#include "tests/network/network_reference.h"
#include "tests/sanitized.h"

namespace murmurate {
namespace {

std::vector<float> Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

/// A network on some threads and what comes out of it; every run overwrites all of it.
struct Trial {
  Trial(const ModelSpec& of, int threads, int max_rows)
      : spec(of), network(spec, max_rows, threads), parameters(RandomParameters(spec)) {}

  /// Rows [steps][count], random by `seed`, with episodes that begin here and there.
  void Run(int steps, int count, std::uint64_t seed = 1) {
    const int n = steps * count;
    const std::vector<std::uint32_t> observations = RandomRows(spec, n, seed);
    const std::vector<float> state0 =
        Normals(std::size_t(count) * network.state_floats(), seed + 1);
    const std::vector<float> d_logits = Normals(std::size_t(n) * network.outputs(), seed + 2);
    const std::vector<float> d_values = Normals(n, seed + 3);
    std::vector<std::uint8_t> first(n);
    for (int i = 0; i < n; ++i) first[i] = i * 7 % 23 == 0;
    logits.assign(d_logits.size(), std::nanf(""));
    values.assign(n, std::nanf(""));
    state.assign(state0.size(), std::nanf(""));
    gradient.assign(network.layout().trained_count(), std::nanf(""));
    const Sequences sequences{steps, count, first.data(), state0.data(), state.data()};
    const std::uint64_t before = AllocationsOfAllThreads();
    network.Forward(parameters, observations.data(), n, logits.data(), values.data(), &sequences);
    network.Backward(parameters, d_logits.data(), d_values.data(), gradient);
    allocations = AllocationsOfAllThreads() - before;
    values_alone.assign(n, std::nanf(""));
    network.Forward(parameters, observations.data(), n, nullptr, values_alone.data(), &sequences);
  }

  const ModelSpec spec;
  ActorCritic network;
  std::vector<float> parameters;
  std::vector<float> logits, values, values_alone, state, gradient;
  std::uint64_t allocations = 0;
};

void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected, float tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance) << what << " " << i;
}

class NetworkThreadsTest : public testing::TestWithParam<NetworkCase> {
 protected:
  const ModelSpec spec = SpecOf(GetParam());
  const bool recurs = PlanNetwork(spec, "policy")->state_floats > 0;
};

TEST_P(NetworkThreadsTest, TheyGiveWhatOneThreadGives) {
  // Seven sequences of 13 steps, or 91 rows; more than a chunk of rows; fewer than threads.
  const std::vector<std::pair<int, int>> minibatches{{13, 7}, {1, 401}, {13, 2}, {1, 3}, {5, 1}};
  Trial one(spec, 1, 401);
  for (const int threads : {2, 3, 5}) {
    Trial several(spec, threads, 401);
    for (const auto& [steps, count] : minibatches) {
      one.Run(steps, count);
      several.Run(steps, count);
      const std::string what = std::to_string(threads) + " threads, " + std::to_string(steps) +
                               " x " + std::to_string(count) + " rows, at";
      float largest = 1.0f;
      for (const float x : one.gradient) largest = std::max(largest, std::abs(x));
      ExpectNear(several.logits, one.logits, 1e-5f, what);
      ExpectNear(several.values, one.values, 1e-5f, what);
      if (recurs) ExpectNear(several.state, one.state, 1e-5f, what);
      ExpectNear(several.gradient, one.gradient, 1e-5f * largest, what);
      ASSERT_EQ(several.values_alone, several.values) << what;
      ASSERT_EQ(several.allocations, 0u) << what;
    }
  }
}

TEST_P(NetworkThreadsTest, TheSameNumberOfThreadsGivesTheSameBits) {
  Trial used(spec, 3, 130), fresh(spec, 3, 130);
  used.Run(1, 130, 77);
  used.Run(2, 3, 78);  // fewer rows: nothing of the rows before is left
  for (const auto& [steps, count] : {std::pair{13, 7}, std::pair{1, 130}, std::pair{1, 2}}) {
    used.Run(steps, count);
    fresh.Run(steps, count);
    EXPECT_EQ(used.logits, fresh.logits);
    EXPECT_EQ(used.values, fresh.values);
    EXPECT_EQ(used.gradient, fresh.gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(, NetworkThreadsTest, testing::ValuesIn(NetworkCases()),
                         [](const auto& test) { return test.param.name; });

/// Of this process, by name: a sanitizer has some of its own.
std::ptrdiff_t ThreadsNamed(const std::string& wanted) {
  std::ptrdiff_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == wanted) ++found;
  }
  return found;
}

TEST(NetworkShare, HasRoomForTheMostRowsItCanGetAndNoMore) {
  const auto most = [](int rows, int longest, int shares) {
    std::vector<int> each;
    for (int i = 0; i < shares; ++i)
      each.push_back(NetworkShare::MostRows({rows, longest, shares}, i));
    return each;
  };
  EXPECT_EQ(most(256, 1, 3), (std::vector{86, 85, 85})) << "rows that are independent";
  // Nine of 28 leave the first share three, ten of 25 the second, eleven of 23 the third; eight of
  // 32 leave the last one two.
  EXPECT_EQ(most(256, 32, 4), (std::vector{84, 75, 69, 64}));
  EXPECT_EQ(most(2, 1, 4), (std::vector{1, 1, 0, 0}));
  // Three of 32 leave the first share two; four of 24 would leave it 48.
  EXPECT_EQ(most(96, 32, 2), (std::vector{64, 48}));
  // One sequence of 96 is the first's alone; of two and three the others have one.
  EXPECT_EQ(most(96, 96, 3), (std::vector{96, 48, 32}));
}

/// Bytes that the C library has given out and not got back.
std::size_t BytesHeld() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST(NetworkThreads, ThoseOfARecurrentModelTakeNoMoreRoomThanOne) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 64\naction discrete 4\nlstm 16\nseparate_value 0\n"
      "normalize_observation 0\n");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto room_of = [&](int threads) {
    const std::size_t before = BytesHeld();
    const ActorCritic network(*spec, 64 * 128, threads, 128);
    return BytesHeld() - before;
  };
  const std::size_t one = room_of(1);
  // What it gathers (four columns of a row's 64 + 4 + 1 numbers) and three gradients come on top.
  EXPECT_LT(room_of(4), 1.35 * static_cast<double>(one));
}

TEST(NetworkThreads, TheyEndWithTheNetwork) {
  {
    Trial trial(SpecOf(NetworkCases().front()), 3, 20);
    trial.Run(1, 20);
    EXPECT_EQ(ThreadsNamed("mmr-train.1"), 0) << "the caller is one of them";
    EXPECT_EQ(ThreadsNamed("mmr-train.2"), 1);
    EXPECT_EQ(ThreadsNamed("mmr-train.3"), 1);
    EXPECT_EQ(ThreadsNamed("mmr-train.4"), 0);
  }
  // A thread that was joined may stay in the list for a moment.
  const auto left = [] { return ThreadsNamed("mmr-train.2") + ThreadsNamed("mmr-train.3"); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (left() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(left(), 0);
}

}  // namespace
}  // namespace murmurate
