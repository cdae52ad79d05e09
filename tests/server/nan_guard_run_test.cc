// The hook nan_guard of the real executable, with checkpoints on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "shared/model/weights_file.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

constexpr char kRun[] =
    "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 4\nlog_interval_s = 0.2\n"
    "steps = 100_000_000\non_collapse = \"off\"\n[model]\nactivation = \"relu\"\n"
    "normalize_observation = false\n"
    "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n"
    "[algorithm]\ntrajectory_length = 64\nbatch_steps = 1024\nminibatch = 256\nepochs = 1\n"
    "max_grad_norm = 0\nnormalize_reward = false\n[evaluation]\nevery = 0\n"
    "[checkpoint]\nevery_s = 0\nkeep = 1000\n"
    "[[hook]]\nkind = \"checkpoint_saver\"\nevery_steps = 65_536\n"
    "[[hook]]\nkind = \"nan_guard\"\naction = \"restore\"\n";

std::vector<float> WeightsIn(const std::string& folder) {
  const auto weights = ReadWeightsFile(folder + "/weights.safetensors");
  EXPECT_TRUE(weights.ok()) << weights.status().message();
  if (!weights.ok()) return {};
  return {weights->parameters.begin(), weights->parameters.end()};
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

/// The word after `before` in `text`, without commas; 0: it is not there.
std::uint64_t NumberAfter(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  std::uint64_t number = 0;
  for (std::size_t i = at == text.npos ? text.size() : at + before.size(); i < text.size(); ++i) {
    if (text[i] == ',') continue;
    if (text[i] < '0' || text[i] > '9') break;
    number = 10 * number + static_cast<std::uint64_t>(text[i] - '0');
  }
  return number;
}

std::string FolderOfStep(const Workplace& place, std::uint64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, 12 - digits.size(), '0');
  return place.path() + "/runs/c/checkpoints/step-" + digits;
}

std::uint64_t LearnedSteps(const Workplace& place) {
  const Ran ran = RunMurmurate(place.path(), {"status", "c", "--json"});
  const auto status = nlohmann::json::parse(ran.output, nullptr, false);
  if (!status.is_object() || status["models"].empty()) return 0;
  return status["models"][0].value("learned_steps", std::uint64_t{0});
}

/// The steps of the checkpoints that are there, the lowest first.
std::vector<std::uint64_t> CheckpointsOf(const Workplace& place) {
  std::vector<std::uint64_t> steps;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(place.path() + "/runs/c/checkpoints", error))
    if (const auto at = NumberAfter(entry.path().filename().string(), "step-"); at > 0)
      steps.push_back(at);
  std::ranges::sort(steps);
  return steps;
}

class NanGuardRun : public ::testing::Test {
 protected:
  /// Sets, once there are two checkpoints, a learning rate that no weights outlive: while learning
  /// is paused, and the next checkpoint is more than 20 batches away.
  void Break(Process* train) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      (void)RunMurmurate(place_.path(), {"pause", "c"});
      const std::vector<std::uint64_t> steps = CheckpointsOf(place_);
      const bool early = steps.size() >= 2 && LearnedSteps(place_) < steps.back() + 40'000;
      if (early)
        ASSERT_EQ(RunMurmurate(place_.path(), {"set", "c", "optimizer.learning_rate=100"}).code, 0);
      (void)RunMurmurate(place_.path(), {"unpause", "c"});
      if (early) return;
      usleep(50'000);
    }
    FAIL() << "there are no two checkpoints: " << train->Errors();
  }
  const Workplace place_;
};

/// At so low a rate what is learned after the return moves next to nothing.
TEST_F(NanGuardRun, GoesBackToTheWeightsOfTheNewestFiniteCheckpoint) {
  place_.Write("c.toml", std::string(kRun) + "rate_factor = 1e-12\ntimes = 1\n");
  Process train(place_.path(), {"train", "c.toml", "--quiet"});
  Break(&train);
  ASSERT_TRUE(train.Says("it goes back to the checkpoint of step ")) << train.Errors();
  const std::string said = train.Errors();
  EXPECT_THAT(said, HasSubstr(" at 1e-12 of its learning rate (1 of at most 1 times)"));
  const std::uint64_t step = NumberAfter(said, "it goes back to the checkpoint of step ");
  const std::uint64_t broken = NumberAfter(said, "are not finite numbers at step ");
  ASSERT_TRUE(Eventually(20, [&] { return LearnedSteps(place_) > broken + 20'000; }));
  EXPECT_EQ(RunMurmurate(place_.path(), {"stop", "c"}).code, 0);
  EXPECT_EQ(train.Wait(10), 0) << train.Errors();
  const auto after = WeightsIn(place_.path() + "/runs/c/checkpoints/latest");
  const auto to = WeightsIn(FolderOfStep(place_, step));
  const std::uint64_t first = CheckpointsOf(place_).front();
  ASSERT_LT(first, step);
  const auto earlier = WeightsIn(FolderOfStep(place_, first));
  ASSERT_FALSE(after.empty());
  EXPECT_LT(Distance(after, to), 0.02 * Distance(after, earlier));
}

TEST_F(NanGuardRun, GoesBackSoManyTimesAndThenEndsTheRun) {
  place_.Write("c.toml", std::string(kRun) + "rate_factor = 0.5\ntimes = 2\n");
  Process train(place_.path(), {"train", "c.toml"});
  Break(&train);
  EXPECT_EQ(train.Wait(20), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Ended by a hook: "));
  const std::string said = train.Errors();
  EXPECT_THAT(said, HasSubstr(" at 0.5 of its learning rate (1 of at most 2 times)"));
  EXPECT_THAT(said, HasSubstr(" at 0.5 of its learning rate (2 of at most 2 times)"));
  EXPECT_THAT(said, HasSubstr("hook nan_guard ends the run: losses or gradients of model default "
                              "are not finite numbers at step "));
  EXPECT_THAT(said, HasSubstr(", and it went back 2 times already"));
  EXPECT_THAT(place_.Read("runs/c/progress.csv"), HasSubstr(",25,0.2,")) << "100 halved twice";
}

}  // namespace
}  // namespace murmurate
