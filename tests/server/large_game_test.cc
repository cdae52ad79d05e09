// Games that show very much, against the real executable: what fits a message is played, what does
// not is refused before anything is made for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "murmurate/client.h"
#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

const std::string kIpc = "server.listen=[\"ipc\"]";

std::string AddressOf(const Workplace& place) {
  std::string found;
  Eventually(20, [&] {
    const auto json = nlohmann::json::parse(place.Read("runs/serve/address.json"), nullptr, false);
    if (json.is_object()) found = json["listen"][0];
    return !found.empty();
  });
  return found;
}

double ResidentMebibytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtod(&line[6], nullptr) / 1024;
  return -1;
}

TEST(LargeGame, APictureOf128By128By3FloatsLearnsWithTheUsualSettings) {
  Workplace place;
  // A small network and one pass over a batch in place of ten: trajectories and batches are the
  // usual ones.
  Process serve(place.path(), {"serve", "--set", kIpc, "--set", "algorithm.epochs=1", "--set",
                               "model.layers=[8]"});
  auto client = Client::Connect(AddressOf(place));
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = (*client)->NewAgent({.observation = Box({128, 128, 3}), .action = Discrete(2)});
  ASSERT_TRUE(agent.valid());
  const std::vector<float> picture(128 * 128 * 3, 0.5f);
  int step = 0;
  const std::uint64_t wanted = kSanitized ? 1 : 2;  // 1 is what it began with; a batch takes a
                                                    // sanitized learner most of a minute
  EXPECT_TRUE(Eventually(60, [&] {
    for (int i = 0; i < 50; ++i) {
      agent.Reward(agent.Act(picture));
      if (++step % 50 == 0) agent.End(kTerminated);
    }
    return (*client)->Stats().version >= wanted;
  })) << serve.Errors();
  EXPECT_TRUE(
      serve.Says("model default: a trajectory of 128 steps takes 27.2 MiB and a message "
                 "holds 16.0 MiB, so algorithm.trajectory_length is 64 here"));
  EXPECT_THAT(serve.Errors() + serve.Output(), HasSubstr("so algorithm.batch_steps is 1024"));
}

/// One more client whose game is too large; what it is told.
std::string TryTooLarge(const std::string& address) {
  std::vector<std::pair<std::string, Space>> boxes;
  for (int i = 0; i < 30; ++i) boxes.emplace_back("part" + std::to_string(i), Box({65536}));
  auto client = Client::Connect(address);
  if (!client.ok()) return client.status().message();
  const Agent agent = (*client)->NewAgent({.observation = Dict(boxes), .action = Discrete(2)});
  if (!Eventually(20, [&] { return (*client)->State().state == ClientState::kRefused; }))
    return "(never refused)";
  return (*client)->State().reason;
}

TEST(LargeGame, WhatNoMessageHoldsIsRefusedOnBothSidesAndCostsNoMemory) {
  Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc});
  const std::string address = AddressOf(place);
  const std::string sentence = "model default: a trajectory of one step takes 23594";
  EXPECT_THAT(TryTooLarge(address), HasSubstr(sentence));
  EXPECT_TRUE(serve.Says("was refused (spaces): " + sentence)) << serve.Errors();
  const double before = ResidentMebibytes(serve.pid());
  for (int i = 0; i < 99; ++i) ASSERT_THAT(TryTooLarge(address), HasSubstr(sentence)) << i;
  if (!kSanitized) {  // whose allocator gives nothing back
    EXPECT_LT(ResidentMebibytes(serve.pid()), before + 8);
    EXPECT_LT(before, 64);
  }
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  EXPECT_EQ(place.LeftBehind(), "");
}

}  // namespace
}  // namespace murmurate
