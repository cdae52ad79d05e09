// Runs whose parameters several threads step at once, as processes see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kTwo = "[parameters]\nrule = \"hogwild\"\nthreads = 2\n";

/// A column of every row in which it is not empty.
std::vector<double> Column(const std::string& csv, const std::string& column) {
  std::istringstream lines(csv);
  std::string header, line;
  std::getline(lines, header);
  std::vector<double> values;
  while (std::getline(lines, line)) {
    std::istringstream names(header), fields(line);
    std::string name, field;
    while (std::getline(names, name, ',') && std::getline(fields, field, ','))
      if (name == column && !field.empty()) values.push_back(std::stod(field));
  }
  return values;
}

std::vector<std::string> ThreadsOf(pid_t pid) {
  std::vector<std::string> names;
  std::error_code gone;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  return names;
}

class HogwildRun : public ::testing::TestWithParam<bool> {
 protected:
  static std::string Sgd(std::string config) {
    const std::string adam = "learning_rate = 1e-2\n";
    config.replace(config.find(adam), adam.size(), "name = \"sgd\"\nlearning_rate = 0.5\n");
    return config;
  }
  std::string Config() const {
    return Sgd(Corners("r")) + kTwo + (GetParam() ? "locking = true\n" : "");
  }
  Ran Run(std::vector<std::string> arguments) const {
    return RunMurmurate(place_.path(), std::move(arguments), 60);
  }
  std::string Progress() const { return place_.Read("runs/r/progress.csv"); }
  double Last(const std::string& column) const { return LastOf(Progress(), column); }
  bool Checkpointed() const { return place_.Has("runs/r/checkpoints/latest/MANIFEST.json"); }

  Workplace place_;
};

TEST_P(HogwildRun, LearnsFromFilesAllOfThemAndEndsByItself) {
  WriteCorners(place_);
  place_.Write("c.toml", Config());
  const Ran train = Run({"train", "c.toml"});
  ASSERT_EQ(train.code, 0) << train.errors;
  EXPECT_THAT(train.output, HasSubstr("Done: 28,800 steps learned from 3000 samples of "));
  EXPECT_EQ(Last("train/trained_steps"), 28800);
  EXPECT_GT(Last("eval/accuracy"), 0.9);
  EXPECT_EQ(place_.LeftBehind(), "");
}

// A pass is 2,400 rows in 5 batches.
TEST_P(HogwildRun, AfterKillNineEveryBatchIsTrainedOnOnce) {
  WriteCorners(place_);
  place_.Write("c.toml", Config() + "[checkpoint]\nevery_steps = 4000\n");
  {
    Process train(place_.path(), {"train", "c.toml", "--set", "data.passes=100000"});
    ASSERT_TRUE(Eventually(20, [&] { return Checkpointed(); })) << train.Errors();
    const auto threads = ThreadsOf(train.pid());
    EXPECT_THAT(threads, testing::Contains("mmr-learn"));
    EXPECT_THAT(threads, testing::Contains("mmr-hog:2"));
    train.Send(SIGKILL);
    train.Wait(20);
  }
  const Ran status = Run({"inspect", "runs/r/checkpoints/latest"});
  ASSERT_EQ(status.code, 0) << status.errors;
  const Ran resumed = Run({"resume", "r", "--set", "data.passes=100000", "--set",
                           "run.stop_at_steps=" + std::to_string(2400 * 1000)});
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(Last("time/total_timesteps"), 2400 * 1000);
  EXPECT_EQ(Last("train/trained_steps"), 2400 * 1000);
  EXPECT_EQ(Last("train/version"), 5 * 1000 + 1) << "a version for each batch";
  EXPECT_GT(Last("eval/accuracy"), 0.9);
}

TEST_P(HogwildRun, StopsBetweenBatchesAndGoesOnToTheSameNumberOfThem) {
  WriteCorners(place_);
  place_.Write("c.toml", Config());
  ASSERT_EQ(Run({"train", "c.toml", "--set", "run.stop_at_steps=9000"}).code, 0);
  const Ran resumed = Run({"resume", "r", "--set", "run.stop_at_steps=1000000000"});
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(Last("train/trained_steps"), 28800);
  EXPECT_EQ(Last("train/version"), 61);
}

TEST_P(HogwildRun, LearnsFromActorsAndPublishesVersionsThatGrow) {
  std::vector<std::string> arguments{"train", "cartpole-impala"};
  for (const char* setting :
       {"run.name=r", "run.log_interval_s=0.02", "optimizer.name=sgd",
        "optimizer.learning_rate=0.3", "parameters.rule=hogwild", "parameters.threads=2"})
    arguments.insert(arguments.end(), {"--set", setting});
  if (GetParam()) arguments.insert(arguments.end(), {"--set", "parameters.locking=true"});
  arguments.insert(arguments.end(), {"--steps", "400000"});
  const Ran train = Run(arguments);
  EXPECT_LE(train.code, 1) << train.errors;
  const std::vector<double> versions = Column(Progress(), "train/version");
  ASSERT_GT(versions.size(), 3u);
  EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end()));
  const std::vector<double> steps = Column(Progress(), "time/total_timesteps");
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  EXPECT_GT(versions.back(), 100);
  EXPECT_GT(Last("eval/mean_reward"), 100);  // by chance: 20
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_P(HogwildRun, ActorsOfAKilledLearnerAreLearnedFromByTheNext) {
  std::vector<std::string> arguments{"train", "cartpole-impala"};
  for (const char* setting :
       {"run.name=r", "run.log_interval_s=0.02", "run.stop_at_return=100000", "run.steps=1000000",
        "optimizer.name=sgd", "optimizer.learning_rate=0.1", "parameters.rule=hogwild",
        "parameters.threads=2", "checkpoint.every_s=0.05"})
    arguments.insert(arguments.end(), {"--set", setting});
  if (GetParam()) arguments.insert(arguments.end(), {"--set", "parameters.locking=true"});
  {
    Process train(place_.path(), arguments);
    ASSERT_TRUE(Eventually(20, [&] { return Checkpointed(); })) << train.Errors();
    train.Send(SIGKILL);
    train.Wait(20);
  }
  const Ran resumed = Run({"resume", "r", "--set", "run.stop_at_steps=300000"});
  EXPECT_EQ(resumed.code, 1) << resumed.errors;  // the return is out of reach
  EXPECT_THAT(resumed.errors, testing::Not(HasSubstr("refused")));
  EXPECT_GE(Last("time/total_timesteps"), 300000);
  EXPECT_LE(Last("train/trained_steps"), Last("time/total_timesteps"));
  EXPECT_GT(Last("train/trained_steps"), 0.5 * Last("time/total_timesteps"));
}

INSTANTIATE_TEST_SUITE_P(Locking, HogwildRun, ::testing::Bool());

}  // namespace
}  // namespace murmurate
