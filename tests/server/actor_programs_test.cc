// The programs in examples/actors, each against a live learner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/server/process.h"

namespace murmurate {
namespace {

/// What `status` says of the only model; null while there is none.
nlohmann::json ModelOf(const Workplace& place) {
  const auto status = nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output,
                                            nullptr, false);
  if (!status.is_object() || status["models"].size() != 1) return nullptr;
  return status["models"][0];
}

class ActorPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(ActorPrograms, ItsExperienceArrivesAndIsLearnedFrom) {
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                 "algorithm.trajectory_length=32", "--set", "algorithm.batch_steps=256", "--set",
                 "algorithm.minibatch=64", "--set", "evaluation.share=0"});
  Process actor(place.path(), {address, "2048"}, ActorProgram(GetParam()));
  EXPECT_EQ(actor.Wait(60), 0) << actor.Errors();
  EXPECT_EQ(actor.Errors(), "");
  // 2048 steps are 8 batches; what an agent discards is not sent, what it keeps at its end is.
  EXPECT_TRUE(Eventually(20,
                         [&] {
                           const auto model = ModelOf(place);
                           return model.is_object() && model["trained_steps"] >= 1536;
                         }))
      << ModelOf(place).dump() << serve.Output() << serve.Errors();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
}

INSTANTIATE_TEST_SUITE_P(Examples, ActorPrograms,
                         ::testing::Values("bandit", "cartpole", "catch", "gridworld",
                                           "mountain_car", "pendulum", "recall"),
                         [](const auto& name) { return std::string(name.param); });

TEST(ActorProgram, WhatRecallReportsIsInTheRunsReports) {
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(), {"serve", "recall", "--set", "server.listen=[\"" + address + "\"]"});
  Process actor(place.path(), {address, "4096"}, ActorProgram("recall"));
  EXPECT_EQ(actor.Wait(60), 0) << actor.Errors();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  // 409 of 4096 steps end an episode; a share of right answers lies from 0 to 1.
  EXPECT_THAT(place.Read("runs/recall/reports.csv"),
              ::testing::ContainsRegex("[0-9]+,right,(0(\\.[0-9]+)?|1),[0-9]+\n"));
}

}  // namespace
}  // namespace murmurate
