// Lengths, batches, agents and processes as anybody may choose them: a run never stands still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

struct Combination {
  int actors, agents, length, batch_steps;
  const char* staleness = "vtrace";
};

std::ostream& operator<<(std::ostream& out, const Combination& it) {
  return out << it.actors << " x " << it.agents << " agents, length " << it.length << ", batch "
             << it.batch_steps << ", " << it.staleness;
}

class Combinations : public ::testing::TestWithParam<Combination> {};

/// CartPole with actors as processes. Nothing else closes a batch: neither a time nor a quorum.
TEST_P(Combinations, PlaysItsSteps) {
  const Combination& it = GetParam();
  Workplace place;
  const auto set = [](const std::string& key, auto value) { return key + "=" + value; };
  const Ran train =
      RunMurmurate(place.path(),
                   {"train",    "cartpole",
                    "--actors", std::to_string(it.actors),
                    "--agents", std::to_string(it.agents),
                    "--steps",  std::to_string(6 * it.actors * it.agents * it.length),
                    "--set",    set("algorithm.trajectory_length", std::to_string(it.length)),
                    "--set",    set("algorithm.batch_steps", std::to_string(it.batch_steps)),
                    "--set",    set("algorithm.minibatch", std::to_string(it.length)),
                    "--set",    set("algorithm.staleness", std::string("\"") + it.staleness + "\""),
                    "--set",    "algorithm.max_batch_s=1000",
                    "--set",    "algorithm.max_trajectory_s=1000",
                    "--set",    "run.stop_at_return=100000"},
                   30);
  EXPECT_EQ(train.code, 1) << "its steps are spent, and it was not solved; " << train.output
                           << train.errors;
  EXPECT_THAT(train.output, HasSubstr("Not solved: "));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Combinations,
                         ::testing::Values(Combination{4, 2, 512, 1024},
                                           Combination{2, 8, 256, 256}, Combination{3, 5, 100, 200},
                                           Combination{1, 200, 64, 128},
                                           Combination{4, 2, 512, 1024, "block"},
                                           Combination{2, 4, 64, 384, "block"},
                                           Combination{1, 8, 128, 128, "block"}));

}  // namespace
}  // namespace murmurate
