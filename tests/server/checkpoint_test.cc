// Checkpoints of a run, end to end: written while it learns, whatever the disk does; inspected,
// scored and begun with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "murmurate/client.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/weights_file.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Trains until it is told to stop, with a checkpoint ten times a second.
std::vector<std::string> EndlessTraining() {
  return {"train",   "cartpole",          "--set",    "run.stop_at_return=100000",
          "--steps", "100000000",         "--set",    "checkpoint.every_s=0.1",
          "--set",   "checkpoint.keep=2", "--set",    "evaluation.every=0",
          "--set",   "run.name=c",        "--actors", "1"};
}

nlohmann::json Model(const Workplace& place) {
  const auto status = nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output,
                                            nullptr, false);
  return status.is_object() && !status["models"].empty() ? status["models"][0] : nlohmann::json();
}

std::uint64_t Count(const Workplace& place, const char* key) {
  const auto model = Model(place);
  return model.is_object() && model[key].is_number() ? model[key].get<std::uint64_t>() : 0;
}

bool Grows(const Workplace& place, const char* key) {
  const std::uint64_t before = Count(place, key);
  return Eventually(20, [&] { return Count(place, key) > before; });
}

std::vector<std::string> Steps(const fs::path& checkpoints) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(checkpoints))
    if (entry.path().filename().string().starts_with("step-")) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  return names;
}

/// The file holds what the checkpoint would play, and it plays.
void ExpectTheSamePolicy(const std::string& file, const std::string& checkpoint) {
  const auto policy = ReadWeightsFile(file);
  const auto whole = ReadWeightsFile(checkpoint + "/weights.safetensors");
  ASSERT_TRUE(policy.ok()) << policy.status();
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(policy->spec, whole->spec);
  const ParameterLayout layout(whole->spec);
  for (const auto& section : {layout.published, layout.statistics})
    EXPECT_TRUE(std::equal(policy->parameters.begin() + section.offset,
                           policy->parameters.begin() + section.offset + section.count,
                           whole->parameters.begin() + section.offset));
  EXPECT_EQ(policy->steps, whole->steps);
  auto client = Client::Open({.policy = PolicySource::FromFile(file), .deterministic = true});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = (*client)->NewAgent({.observation = Box({4}), .action = Discrete(2)});
  ASSERT_TRUE(agent.valid()) << (*client)->last_error();
  Agent again = (*client)->NewAgent({.observation = Box({4}), .action = Discrete(2)});
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> seen = {0.01f * i, -0.02f * i, 0.1f, 0.05f};
    EXPECT_EQ(agent.Act(seen), again.Act(seen)) << "greedy, whatever the mode";
  }
}

TEST(Checkpoints, AreWrittenWhileARunLearnsAndTheLastAtItsEnd) {
  Workplace place;
  Process train(place.path(), EndlessTraining());
  ASSERT_TRUE(Eventually(30, [&] { return Count(place, "checkpoints_written") >= 3; }));
  EXPECT_EQ(Count(place, "checkpoint_failures"), 0u);
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(30), 0) << train.Errors();
  const auto kept = Steps(place.path() + "/runs/c/checkpoints");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(fs::canonical(place.path() + "/runs/c/checkpoints/latest"), fs::canonical(kept[1]));

  const Ran inspect = RunMurmurate(place.path(), {"inspect", "c"});
  EXPECT_EQ(inspect.code, 0) << inspect.errors;
  for (const char* part : {"weights.safetensors", "bytes  verified", "dense 64", "policy.head.bias",
                           "algorithm.name", "\"ppo\""})
    EXPECT_THAT(inspect.output, HasSubstr(part));

  fs::resize_file(kept[1] + "/weights.safetensors", 100);
  const Ran eval = RunMurmurate(place.path(), {"eval", "c", "--episodes", "2"});
  EXPECT_EQ(eval.code, 0) << eval.errors;
  EXPECT_THAT(eval.errors, HasSubstr("checkpoint skipped: runs/c/checkpoints/step-"));
  const Ran one = RunMurmurate(place.path(), {"eval", kept[0], "--episodes", "2"});
  EXPECT_EQ(one.code, 0) << one.errors;
  for (const char* command : {"inspect", "eval"}) {
    const Ran bad = RunMurmurate(place.path(), {command, kept[1]});
    EXPECT_EQ(bad.code, 3) << command;
    EXPECT_THAT(bad.errors, HasSubstr("weights.safetensors has 100 bytes where "));
  }
  const Ran best = RunMurmurate(place.path(), {"eval", "c", "--best"});
  EXPECT_EQ(best.code, 3);
  EXPECT_THAT(best.errors, HasSubstr("checkpoints/best: names no checkpoint"));

  const Ran exported = RunMurmurate(place.path(), {"export", kept[0], "-o", "npc.policy"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  ExpectTheSamePolicy(place.path() + "/npc.policy", kept[0]);
  EXPECT_EQ(RunMurmurate(place.path(), {"export", kept[1]}).code, 3);
  const Ran usual = RunMurmurate(place.path(), {"export", "c", "--format", "policy"});
  EXPECT_EQ(usual.code, 0) << usual.errors;
  EXPECT_THAT(usual.output, HasSubstr("/runs/c/export/c.policy: the policy of step "));
  ExpectTheSamePolicy(place.path() + "/runs/c/export/c.policy", kept[0]);

  const Ran begun = RunMurmurate(
      place.path(), {"check", "cartpole", "--set", "model.initialize_from=" + kept[0]});
  EXPECT_EQ(begun.code, 0) << begun.errors;
  EXPECT_THAT(begun.output, HasSubstr("12 of 12 tensors"));
  const Ran damaged = RunMurmurate(
      place.path(),
      {"check", "cartpole", "--set", "model.initialize_from=" + kept[1] + "/weights.safetensors"});
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.errors, HasSubstr("100 bytes where "));
}

/// Of progress.csv, a column's numbers; rows without one are left out.
std::vector<double> Column(const Workplace& place, const std::string& name) {
  std::istringstream rows(place.Read("runs/b/progress.csv"));
  std::string row, field;
  std::getline(rows, row);
  std::istringstream header(row);
  std::size_t wanted = 0;
  while (std::getline(header, field, ',') && field != name) ++wanted;
  std::vector<double> numbers;
  while (std::getline(rows, row)) {
    std::istringstream fields(row);
    for (std::size_t i = 0; i <= wanted; ++i) std::getline(fields, field, ',');
    if (!field.empty()) numbers.push_back(std::stod(field));
  }
  return numbers;
}

/// The best of run b: what its evaluation came to; that it is the best of all rows and plays so.
double CheckBest(const Workplace& place) {
  const auto state = nlohmann::json::parse(place.Read("runs/b/checkpoints/best/state.json"));
  const double best = std::stod(state["evaluated"]["mean_return"].get<std::string>());
  const auto scores = Column(place, "eval/mean_reward");
  EXPECT_NEAR(best, *std::max_element(scores.begin(), scores.end()), 1e-3);
  const auto steps = Column(place, "eval/timesteps");
  EXPECT_EQ(std::stod(state["environment_steps"].get<std::string>()),
            steps[std::max_element(scores.begin(), scores.end()) - scores.begin()]);
  char mean[40];
  std::snprintf(mean, sizeof mean, "mean %.3f ", best);
  const Ran eval = RunMurmurate(place.path(), {"eval", "b", "--best"});
  EXPECT_THAT(eval.output, HasSubstr(mean)) << eval.errors;
  return best;
}

TEST(Checkpoints, TheWeightsThatEvaluatedBestAreKeptOverTheRunsLivesAndNobodyGoesOnFromThem) {
  Workplace place;
  const std::vector<std::string> train{"train",
                                       "cartpole",
                                       "--steps",
                                       "20000",
                                       "--quiet",
                                       "--set",
                                       "run.name=b",
                                       "--set",
                                       "model.layers=[16]",
                                       "--set",
                                       "run.stop_at_return=100000"};
  EXPECT_EQ(RunMurmurate(place.path(), train, 60).code, 1) << "its steps are spent";
  const double before = CheckBest(place);
  const fs::path checkpoint_folder = place.path() + "/runs/b/checkpoints";
  EXPECT_TRUE(fs::read_symlink(checkpoint_folder / "latest").string().starts_with("step-"));
  const Ran inspect = RunMurmurate(place.path(), {"inspect", "runs/b/checkpoints/best"});
  EXPECT_EQ(inspect.code, 0) << inspect.errors;
  for (const char* part : {"verified", "(evaluated)", "weights only"})
    EXPECT_THAT(inspect.output, HasSubstr(part));

  const Ran resumed =
      RunMurmurate(place.path(), {"resume", "b", "--quiet", "--set", "run.steps=40000"}, 60);
  EXPECT_EQ(resumed.code, 1) << resumed.errors;
  EXPECT_THAT(place.Read("runs/b/log.txt"), HasSubstr("goes on from runs/b/checkpoints/step-"));
  EXPECT_GE(CheckBest(place), before);
  int best = 0;
  for (const auto& entry : fs::directory_iterator(checkpoint_folder))
    best += entry.path().filename().string().starts_with("best-");
  EXPECT_EQ(best, 1);

  // Nothing is left of the newest ones: what is whole is named, for what each command can do with
  // it.
  for (const auto& entry : fs::directory_iterator(checkpoint_folder)) {
    if (!entry.path().filename().string().starts_with("step-")) continue;
    fs::resize_file(entry.path() / "weights.safetensors", 100);
  }
  for (const char* command : {"eval", "export"}) {
    const Ran ran = RunMurmurate(place.path(), {command, "b"});
    EXPECT_EQ(ran.code, 3) << ran.output;
    EXPECT_THAT(ran.errors, HasSubstr("or take its best one (runs/b/checkpoints/best-step-"));
    EXPECT_THAT(ran.errors, HasSubstr("), which is whole, with --best"));
    EXPECT_EQ(RunMurmurate(place.path(), {command, "b", "--best"}).code, 0);
  }
  const Ran play = RunMurmurate(place.path(), {"play", "b", "--gif", "b.gif"});
  EXPECT_EQ(play.code, 3) << play.output;
  EXPECT_THAT(play.errors, HasSubstr("), which is whole, with --checkpoint best"));
  const Ran none =
      RunMurmurate(place.path(), {"resume", "b", "--quiet", "--set", "run.steps=60000"}, 60);
  EXPECT_EQ(none.code, 3) << none.output;
  const std::string remedy = "--set model.initialize_from=";
  const std::size_t at = none.errors.find(remedy);
  ASSERT_NE(at, none.errors.npos) << none.errors;
  const std::string file =
      none.errors.substr(at + remedy.size(),
                         none.errors.find_first_of(" \n", at + remedy.size()) - at - remedy.size());
  EXPECT_EQ(RunMurmurate(place.path(), {"check", "cartpole", "--set", "model.layers=[16]", "--set",
                                        "model.initialize_from=" + file})
                .code,
            0)
      << file;
}

/// Whether tensors of this checkpoint open in the Python package; it is asked, never assumed.
TEST(Checkpoints, OpenInThePythonPackage) {
  const char* chosen = std::getenv("MURMURATE_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  if (std::system((python + " -c 'import safetensors.numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python << " has no package safetensors (set MURMURATE_PYTHON)";
  Workplace place;
  Process train(place.path(), EndlessTraining());
  ASSERT_TRUE(Eventually(30, [&] { return Count(place, "checkpoints_written") >= 1; }));
  train.Send(SIGINT);
  ASSERT_EQ(train.Wait(30), 0);
  place.Write("read.py",
              "import json, sys, hashlib\nfrom safetensors.numpy import load_file\n"
              "folder = 'runs/c/checkpoints/latest/'\n"
              "weights = load_file(folder + 'weights.safetensors')\n"
              "load_file(folder + 'optimizer.safetensors')\n"
              "state = json.load(open(folder + 'state.json'))\n"
              "manifest = json.load(open(folder + 'MANIFEST.json'))\n"
              "for name, seal in manifest['files'].items():\n"
              "  data = open(folder + name, 'rb').read()\n"
              "  assert len(data) == seal['size'], name\n"
              "  assert hashlib.sha256(data).hexdigest() == seal['sha256'], name\n"
              "assert state['steps'] == manifest['step']\n"
              "assert weights['policy.head.weight'].shape == (64, 2)\n");
  EXPECT_EQ(std::system(("cd " + place.path() + " && " + python + " read.py").c_str()), 0);
}

/// murmurate with `runs` on a disk of 8 MiB; empty where that is not allowed.
std::vector<std::string> SmallDisk() {
  const std::string script =
      "mkdir -p runs && mount -t tmpfs -o size=8m tmpfs runs && exec \"$0\" \"$@\"";
  const std::vector<std::string> prefix{"unshare", "-rm", "sh", "-c", script};
  Workplace place;
  Process trial(place.path(), {"--version"}, prefix);
  return trial.Wait(10) == 0 ? prefix : std::vector<std::string>{};
}

constexpr char kNoNamespace[] = "no permission for a mount namespace of its own";

/// What is told when a checkpoint cannot be written, and that learning goes on all the same.
void ExpectLoud(const Workplace& place, Process* train, const std::string& why) {
  EXPECT_TRUE(Eventually(20, [&] { return Count(place, "checkpoint_failures") >= 1; }));
  EXPECT_TRUE(train->Says("checkpoint not written (")) << train->Errors();
  EXPECT_THAT(train->Errors(), HasSubstr(why));
  EXPECT_THAT(RunMurmurate(place.path(), {"status"}).output, HasSubstr(why));
  EXPECT_TRUE(Grows(place, "trained_steps"));
  EXPECT_GT(Count(place, "checkpoint_step"), 0u) << "the last good one is still told";
}

TEST(Checkpoints, AFullDiskIsLoudAndTrainingGoesOnUntilThereIsRoom) {
  const auto prefix = SmallDisk();
  if (prefix.empty()) GTEST_SKIP() << kNoNamespace;
  Workplace place;
  Process train(place.path(), EndlessTraining(), prefix);
  ASSERT_TRUE(Eventually(30, [&] { return Count(place, "checkpoint_step") > 0; }));
  const std::string runs =
      "/proc/" + std::to_string(train.pid()) + "/root" + place.path() + "/runs";
  {
    std::ofstream filler(runs + "/filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), 4096).flush()) continue;
  }
  ExpectLoud(place, &train, "No space left on device; free some space on that disk");
  fs::remove(runs + "/filler");
  EXPECT_TRUE(Grows(place, "checkpoint_step"));
  EXPECT_TRUE(Eventually(20, [&] {
    const auto model = Model(place);
    return model.is_object() && model["checkpoint_trouble"] == "";
  }));
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(30), 0) << train.Errors();
}

TEST(Checkpoints, AReadOnlyFolderIsLoudAndTrainingGoesOnUntilItCanBeWritten) {
  const auto prefix = SmallDisk();
  if (prefix.empty()) GTEST_SKIP() << kNoNamespace;
  Workplace place;
  Process train(place.path(), EndlessTraining(), prefix);
  ASSERT_TRUE(Eventually(30, [&] { return Count(place, "checkpoint_step") > 0; }));
  const std::string folder = place.path() + "/runs/c/checkpoints";
  const auto inside = [&](const std::string& command) {
    return std::system(("nsenter -t " + std::to_string(train.pid()) +
                        " -U -m --preserve-credentials sh -c '" + command + "'")
                           .c_str());
  };
  ASSERT_EQ(
      inside("mount --bind " + folder + " " + folder + " && mount -o remount,bind,ro " + folder),
      0);
  ExpectLoud(place, &train, "Read-only file system");
  ASSERT_EQ(inside("umount -l " + folder), 0);
  EXPECT_TRUE(Grows(place, "checkpoint_step"));
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(30), 0) << train.Errors();
}

}  // namespace
}  // namespace murmurate
