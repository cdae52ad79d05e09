// The tour of examples/distributed, each config by the one command that names it, shortened: it ends
// by itself, has learned, and leaves nothing running. The folder that it is typed in is empty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

const fs::path kTour = fs::path(MURMURATE_SOURCES) / "examples/distributed";

struct Example {
  const char* name;
  double passes;   ///< fewer than the config's; over a quarter, where there are four learners
  double at_most;  ///< train/loss of the last row
};

/// Who always says the mean of x^2, x uniform in -1 to 1, has a loss of 1/5 - 1/9 = 0.0889.
constexpr double kParabola = 0.0889 / 4;
/// Who guesses one of ten classes has a loss of log 10 = 2.303.
constexpr double kDigits = 2.303 / 4;

const Example kExamples[] = {{"single", 80, kParabola},
                             {"one-server-one-worker", 80, kParabola},
                             {"asgd", 320, kParabola},
                             {"downpour", 320, kParabola},
                             {"downpour-easy", 520, kParabola},
                             {"agn", 920, kParabola},
                             {"adag", 920, kParabola},
                             {"dynsgd", 320, kParabola},
                             {"sync", 200, kParabola},
                             {"sync-backup", 200, kParabola},
                             {"sync-rates", 200, kParabola},
                             {"sagn", 320, kParabola},
                             {"easgd", 1040, kParabola},
                             {"aeasgd", 1040, kParabola},
                             {"aeamsgd", 480, kParabola},
                             {"overlap", 320, kParabola},
                             {"local-steps", 400, kParabola},
                             {"several-servers", 12, kDigits},
                             {"digits-single", 5, kDigits},
                             {"digits-sync", 12, kDigits},
                             {"digits-agn", 32, kDigits},
                             {"digits-aeasgd", 20, kDigits},
                             {"asynchronous-towers", 6, kDigits},
                             {"hogwild", 80, kParabola},
                             {"digits-hogwild", 5, kDigits}};

/// The last number of a column of a progress.csv; NaN where it has none.
double LastOf(const std::string& csv, const std::string& column) {
  std::istringstream lines(csv);
  std::string header, line, name, field;
  std::getline(lines, header);
  double last = NAN;
  while (std::getline(lines, line)) {
    std::istringstream names(header), fields(line);
    while (std::getline(names, name, ',') && std::getline(fields, field, ','))
      if (name == column && !field.empty()) last = std::stod(field);
  }
  return last;
}

/// Processes that work in `folder`: whoever a command started there, and what that started.
std::vector<std::string> WorkingIn(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const fs::path cwd = fs::read_symlink(entry.path() / "cwd", error);
    if (!error && cwd == fs::canonical(folder)) found.push_back(entry.path().filename());
  }
  return found;
}

/// One folder, in which the first of the tour that wants them makes its data.
class DistributedExamples : public testing::Test {
 protected:
  static void SetUpTestSuite() { place_ = new Workplace; }
  static void TearDownTestSuite() {
    delete place_;
    place_ = nullptr;
  }

  /// Its progress.csv, after it ended well and left nothing.
  static std::string Train(const std::string& name, double passes) {
    const std::string run = UniqueRun();
    const Ran train = RunMurmurate(place_->path(),
                                   {"train", name, "--quiet", "--set", "run.name=" + run, "--set",
                                    "data.passes=" + std::to_string(static_cast<int>(passes))},
                                   100);
    EXPECT_EQ(train.code, 0) << train.output << train.errors;
    EXPECT_THAT(train.output, testing::HasSubstr("Done: "));
    EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
    EXPECT_EQ(place_->LeftBehind(), "");
    EXPECT_EQ(SegmentsOf(run), 0);
    return place_->Read("runs/" + run + "/progress.csv");
  }

  static Workplace* place_;
};

/// A script of the folder; what it prints goes to NAME.txt.
int RunScript(const std::string& place, const std::string& name, const std::string& arguments) {
  const std::string command = "cd \"" + place + "\" && MURMURATE=\"" + MURMURATE_EXECUTABLE +
                              "\" \"" + (kTour / (name + ".sh")).string() + "\" " + arguments +
                              " >" + name + ".txt 2>&1";
  return std::system(command.c_str());
}

Workplace* DistributedExamples::place_ = nullptr;

class EachDistributedExample : public DistributedExamples,
                               public testing::WithParamInterface<Example> {};

TEST_P(EachDistributedExample, EndsByItselfHasLearnedAndLeavesNothing) {
  const std::string csv = Train(GetParam().name, GetParam().passes);
  EXPECT_LT(LastOf(csv, "train/loss"), GetParam().at_most);
}

INSTANTIATE_TEST_SUITE_P(Tour, EachDistributedExample, testing::ValuesIn(kExamples),
                         [](const auto& example) {
                           std::string name = example.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(DistributedExamples, OneWorkerOfOneShardLearnsTheBitsOfNone) {
  const double alone = LastOf(Train("single", 20), "train/loss");
  EXPECT_EQ(LastOf(Train("one-server-one-worker", 20), "train/loss"), alone);
  EXPECT_GT(alone, 0.0);
}

TEST_F(DistributedExamples, WorkersWithRatesOfTheirOwnEndByThemselves) {
  ASSERT_EQ(RunScript(place_->path(), "sync-rates", "--set data.passes=160"), 0)
      << place_->Read("sync-rates.txt");
  for (const char* worker : {"0", "1", "2", "3"}) {
    const std::string csv =
        place_->Read(std::string("runs/sync-rates-learner-") + worker + "/progress.csv");
    EXPECT_LT(LastOf(csv, "train/loss"), kParabola) << worker;
  }
  EXPECT_EQ(LastOf(place_->Read("runs/sync-rates-learner-0/progress.csv"), "train/learning_rate"),
            0.2);
  EXPECT_EQ(LastOf(place_->Read("runs/sync-rates-learner-3/progress.csv"), "train/learning_rate"),
            0.025);
  EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
}

TEST_F(DistributedExamples, AveragedTowersEndByThemselvesWithTheSameLoss) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  for (const auto& [name, value] : {std::pair("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                                    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                    {"OMPI_MCA_btl", "self,vader"},
                                    {"OMPI_MCA_oob_tcp_if_include", "lo"}})
    setenv(name, value, 0);
  if (kSanitized) setenv("LSAN_OPTIONS", "detect_leaks=0", 1);  // MPI keeps memory to its end
  ASSERT_EQ(RunScript(place_->path(), "averaged-towers", "--set data.passes=5"), 0)
      << place_->Read("averaged-towers.txt");
  EXPECT_THAT(place_->Read("averaged-towers.txt"), testing::HasSubstr("Done: "));
  const std::string first = place_->Read("runs/averaged-towers/progress.csv");
  const std::string second = place_->Read("runs/averaged-towers/learner-1/progress.csv");
  EXPECT_LT(LastOf(first, "train/loss"), kDigits);
  EXPECT_EQ(LastOf(second, "train/updates"), LastOf(first, "train/updates"));
  EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
}

TEST_F(DistributedExamples, AsynchronousTowersStartedOneByOneEndByThemselves) {
  ASSERT_EQ(RunScript(place_->path(), "asynchronous-towers", "--set data.passes=6"), 0)
      << place_->Read("asynchronous-towers.txt");
  for (const char* tower : {"0", "1"})
    EXPECT_LT(LastOf(place_->Read(std::string("runs/asynchronous-towers-learner-") + tower +
                                  "/progress.csv"),
                     "train/loss"),
              kDigits)
        << tower;
  EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
}

TEST_F(DistributedExamples, LearnersOfOneCommandHaveTheirOwnRates) {
  const std::string run = UniqueRun();
  const Ran train = RunMurmurate(place_->path(), {"train", "sync-rates", "--quiet", "--set",
                                                  "run.name=" + run, "--set", "data.passes=20"});
  ASSERT_EQ(train.code, 0) << train.output << train.errors;
  const auto rate_in = [&](const std::string& folder) {
    return LastOf(place_->Read("runs/" + run + folder + "/progress.csv"), "train/learning_rate");
  };
  EXPECT_EQ(rate_in(""), 0.2);
  EXPECT_EQ(rate_in("/learner-2"), 0.05);
  EXPECT_EQ(rate_in("/learner-3"), 0.025);
}

TEST_F(DistributedExamples, ThreeLearnersSolveCartPoleAndEndByThemselves) {
  const Ran train =
      RunMurmurate(place_->path(),
                   {"train", "cartpole-sync", "--quiet", "--set", "run.name=" + UniqueRun()}, 100);
  EXPECT_EQ(train.code, 0) << train.output << train.errors;
  EXPECT_THAT(train.output, testing::HasSubstr("Solved: "));
  EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
  EXPECT_EQ(place_->LeftBehind(), "");
}

TEST_F(DistributedExamples, TwoLearnersShareSlowGamesAndEndByThemselves) {
  const std::string run = UniqueRun();
  const Ran train =
      RunMurmurate(place_->path(), {"train", "slow-games", "--quiet", "--set", "run.name=" + run,
                                    "--set", "environment.step_ms=0.5", "--set", "run.steps=2048"});
  EXPECT_EQ(train.code, 1) << train.output << train.errors;
  EXPECT_THAT(train.output, testing::HasSubstr("Not solved: "));
  EXPECT_GE(LastOf(place_->Read("runs/" + run + "/progress.csv"), "time/total_timesteps"), 1024);
  EXPECT_GE(LastOf(place_->Read("runs/" + run + "/learner-1/progress.csv"), "parameters/wait_s"),
            0);
  EXPECT_THAT(WorkingIn(place_->path()), testing::IsEmpty());
}

TEST(DistributedExamplesAlone, TheDataIsMadeOnceAndSaidInOneLine) {
  Workplace place;
  const std::vector<std::string> train{"train", "single", "--set", "data.passes=1"};
  const Ran first = RunMurmurate(place.path(), train);
  ASSERT_EQ(first.code, 0) << first.errors;
  EXPECT_THAT(first.output,
              testing::HasSubstr("Made " + place.path() + "/parabola-x.npy and " + place.path() +
                                 "/parabola-y.npy: 1,000 points of y = x^2.\n"));
  const std::string x = place.Read("parabola-x.npy");
  EXPECT_EQ(x.size(), 128u + 4000u);
  const Ran second = RunMurmurate(place.path(), train);
  EXPECT_THAT(second.output, testing::Not(testing::HasSubstr("Made ")));
  fs::remove(place.path() + "/parabola-x.npy");
  const Ran third = RunMurmurate(place.path(), {"check", "asgd"});
  EXPECT_EQ(third.code, 0) << third.errors;
  EXPECT_THAT(third.output, testing::HasSubstr("Made " + place.path() + "/parabola-x.npy: "));
  EXPECT_EQ(place.Read("parabola-x.npy"), x) << "the data is not the same each time";
}

TEST(DistributedExamplesAlone, TheListNamesEachOnALine) {
  Workplace place;
  const Ran list = RunMurmurate(place.path(), {"train", "--list"});
  EXPECT_EQ(list.code, 0);
  for (const char* line : {"\ndownpour  ", "\ncartpole-sync  ", "\nparabola-mpi  ", "cartpole  "})
    EXPECT_THAT(list.output, testing::HasSubstr(line));
  EXPECT_EQ(RunMurmurate(place.path(), {"train"}).errors,
            "CONFIG is required: a TOML file or an example; `murmurate train --list` names them\n");
}

// A shard and four learners, each by the command that a user types into a terminal of its own.
TEST(DistributedExamplesAlone, AShardAndLearnersStartedOneByOne) {
  Workplace place;
  const std::string at = "parameters.shards=[\"ipc://" + place.path() + "/s\"]";
  Process shard(place.path(), {"params", "downpour", "--shard", "0", "--set", at});
  ASSERT_TRUE(shard.Says("it ends with its last worker")) << shard.Errors();
  std::vector<std::unique_ptr<Process>> learners;
  for (const char* worker : {"0", "1", "2", "3"})
    learners.push_back(std::make_unique<Process>(
        place.path(), std::vector<std::string>{"train", "downpour", "--worker", worker, "--quiet",
                                               "--set", at, "--set", "data.passes=320"}));
  for (auto& learner : learners) EXPECT_EQ(learner->Wait(60), 0) << learner->Errors();
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
  EXPECT_LT(LastOf(place.Read("runs/downpour-learner-0/progress.csv"), "train/loss"), kParabola);
  EXPECT_TRUE(place.Has("runs/downpour-shard-0/models/default/checkpoints"));
  EXPECT_EQ(place.LeftBehind(), "");
  const Ran fifth = RunMurmurate(place.path(), {"train", "downpour", "--worker", "4"});
  EXPECT_EQ(fifth.code, 2);
  EXPECT_THAT(fifth.errors, testing::HasSubstr("got 4, expected 0 to 3"));
  const Ran none = RunMurmurate(place.path(), {"params", "single", "--shard", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, testing::HasSubstr("so there is no parameter server"));
}

TEST(DistributedExamplesList, HasEveryConfigOfTheFolder) {
  // Those of parabola_test.cc, outside_actors_test.cc and collective_test.cc among them.
  std::vector<std::string> listed{"cartpole",     "slow-games",     "mpi",
                                  "mpi-cartpole", "parabola",       "parabola-sync",
                                  "parabola-mpi", "outside-actors", "averaged-towers"},
      there;
  for (const Example& example : kExamples) listed.push_back(example.name);
  for (const auto& entry : fs::directory_iterator(kTour))
    if (entry.path().extension() == ".toml") there.push_back(entry.path().stem());
  EXPECT_THAT(listed, testing::UnorderedElementsAreArray(there));
}

}  // namespace
}  // namespace murmurate
