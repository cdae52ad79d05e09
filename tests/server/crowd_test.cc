// Ten thousand agents of one process beside the real learner.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

constexpr int kAgents = 10'000, kLength = 128;

TEST(Crowd, TenThousandAgentsLearnInSixtyFourMebibytesBesideTheirObservations) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator has sizes of its own";
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(), {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                               "algorithm.trajectory_length=" + std::to_string(kLength), "--set",
                               "algorithm.batch_steps=16384", "--set", "algorithm.minibatch=1024",
                               "--set", "optimizer.learning_rate=3e-3"});
  Process crowd(place.path(), {address, std::to_string(kAgents), std::to_string(kLength), "80"},
                {MURMURATE_EXAMPLES "/../tests/server/crowd"});
  ASSERT_EQ(crowd.Wait(100), 0) << crowd.Errors();
  const auto said = nlohmann::json::parse(crowd.Output());
  RecordProperty("crowd", crowd.Output());
  EXPECT_LE(said.at("besides_mib").get<double>(), 64.0) << said;
  EXPECT_GE(said.at("version").get<int>(), 3) << said;
  EXPECT_GE(said.at("right").get<double>(), 0.8) << "chance is 0.5: it learns from them. " << said;
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
}

}  // namespace
}  // namespace murmurate
