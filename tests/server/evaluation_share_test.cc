// Games of actors that the learner does not know are evaluated by a share of their own episodes:
// real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A learner and an actor that plays `steps` steps of CartPole with eight agents.
struct Scene {
  explicit Scene(const std::string& share)
      : address("ipc://" + place.path() + "/main"),
        serve(place.path(),
              {"serve", "--set", "run.name=s", "--set", "server.listen=[\"" + address + "\"]",
               "--set", "run.log_interval_s=0.2", "--set", "evaluation.share=" + share, "--set",
               "algorithm.batch_steps=512", "--set", "algorithm.trajectory_length=64", "--set",
               "model.layers=[16]"}),
        actor(place.path(), {"actor", "cartpole", "--connect", address, "--agents", "8"}) {}
  nlohmann::json Model() const {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place.path(), {"status", "--json"}).output, nullptr, false);
    return status.is_object() && !status["models"].empty() ? status["models"][0]
                                                           : nlohmann::json::object();
  }
  std::uint64_t Number(const char* key) const { return Model().value(key, std::uint64_t{0}); }

  Workplace place;
  const std::string address;
  Process serve, actor;
};

TEST(EvaluationShare, ABareServeEvaluatesTheGamesOfItsActorsAndKeepsTheBestWeights) {
  Scene scene("0.3");
  const auto has = [&](const char* file) { return scene.place.Has(file); };
  ASSERT_TRUE(Eventually(40, [&] { return has("runs/s/checkpoints/best/weights.safetensors"); }))
      << scene.serve.Errors();
  const auto evaluation = scene.Model()["evaluation"];
  EXPECT_EQ(evaluation["by"], "evaluation.share") << evaluation;
  EXPECT_GE(evaluation["episodes"], 20) << evaluation;
  EXPECT_GT(evaluation["mean_return"], 1.0) << evaluation;
  EXPECT_DOUBLE_EQ(evaluation["mean_return"], evaluation["mean_length"])
      << "CartPole rewards every step with 1";
  EXPECT_THAT(RunMurmurate(scene.place.path(), {"status"}).output,
              HasSubstr("(by evaluation.share)"));
  scene.serve.Send(SIGTERM);
  EXPECT_EQ(scene.serve.Wait(10), 0) << scene.serve.Errors();
  (void)scene.actor.Wait(10);
  EXPECT_THAT(scene.place.Read("runs/s/log.txt"),
              HasSubstr("30 % of its actors' episodes are played without exploration"));
  // The last row has the newest evaluation.
  std::istringstream rows(scene.place.Read("runs/s/progress.csv"));
  std::string header, row, last;
  std::getline(rows, header);
  while (std::getline(rows, row)) last = row;
  std::istringstream names(header), fields(last);
  std::string name, field;
  double mean = 0;
  while (std::getline(names, name, ',') && std::getline(fields, field, ','))
    if (name == "eval/mean_reward" && !field.empty()) mean = std::stod(field);
  EXPECT_GT(mean, 1.0) << header << '\n' << last;

  const Ran exported = RunMurmurate(scene.place.path(), {"export", "s", "--best"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  const Ran inspect = RunMurmurate(scene.place.path(), {"inspect", "s", "--best"});
  EXPECT_THAT(inspect.output, HasSubstr("(evaluated)")) << inspect.errors;
}

TEST(EvaluationShare, WhatIsEvaluatedIsNeitherLearnedFromNorDropped) {
  Scene scene("0.5");
  ASSERT_TRUE(Eventually(40, [&] { return scene.Number("learned_steps") > 20'000; }))
      << scene.serve.Errors();
  scene.actor.Send(SIGTERM);
  ASSERT_EQ(scene.actor.Wait(10), 0) << scene.actor.Errors();
  std::uint64_t played = 0, counted = 0;
  std::string digits;
  for (const char c : scene.actor.Output().substr(0, scene.actor.Output().find(" steps")))
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  played = std::stoull(digits);
  const auto model = scene.Model();
  counted = model["steps"];
  EXPECT_LT(static_cast<double>(counted), 0.9 * static_cast<double>(played)) << model;
  EXPECT_LE(model["learned_steps"], counted);
  EXPECT_LT(model["dropped_steps"].get<double>(), 0.1 * static_cast<double>(counted)) << model;
}

TEST(EvaluationShare, WithoutAShareNothingIsEvaluated) {
  Scene scene("0");
  ASSERT_TRUE(Eventually(40, [&] { return scene.Number("learned_steps") > 40'000; }))
      << scene.serve.Errors();
  EXPECT_TRUE(scene.Model()["evaluation"].is_null()) << scene.Model();
  EXPECT_FALSE(scene.place.Has("runs/s/checkpoints/best"));
  EXPECT_THAT(scene.place.Read("runs/s/log.txt"), Not(HasSubstr("evaluation.share")));
}

/// The learner knows the game, so it plays it itself.
TEST(EvaluationShare, AGameThatTheLearnerEvaluatesIsNotEvaluatedByItsActors) {
  Workplace place;
  const Ran train =
      RunMurmurate(place.path(),
                   {"train", "cartpole", "--steps", "8000", "--quiet", "--set", "run.name=t",
                    "--set", "evaluation.episodes=5", "--set", "evaluation.share=0.5"},
                   60);
  EXPECT_EQ(train.code, 1) << train.errors;
  EXPECT_THAT(place.Read("runs/t/log.txt"), Not(HasSubstr("evaluation.share")));
}

}  // namespace
}  // namespace murmurate
