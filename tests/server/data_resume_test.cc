// Runs that learn from files, stopped or killed in the middle of them, as processes see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

class DataResumed : public ::testing::Test {
 protected:
  Ran Run(std::vector<std::string> arguments) const {
    return RunMurmurate(place_.path(), std::move(arguments), 60);
  }
  Ran Train(const std::string& config, const std::string& run, const std::string& more = "") const {
    std::vector<std::string> arguments{"train", config, "--set", "run.name=" + run};
    if (!more.empty()) arguments.insert(arguments.end(), {"--set", more});
    return Run(std::move(arguments));
  }
  Ran Resume(const std::string& run, const std::vector<std::string>& more = {kFarAway}) const {
    std::vector<std::string> arguments{"resume", run};
    for (const std::string& setting : more) arguments.insert(arguments.end(), {"--set", setting});
    return Run(std::move(arguments));
  }
  std::string Latest(const std::string& run, const std::string& file) const {
    return place_.Read("runs/" + run + "/checkpoints/latest/" + file);
  }
  double Steps(const std::string& run) const {
    return LastOf(place_.Read("runs/" + run + "/progress.csv"), "time/total_timesteps");
  }
  void ExpectSame(const std::string& one, const std::string& other) const {
    for (const char* file : {"weights.safetensors", "optimizer.safetensors"}) {
      EXPECT_FALSE(Latest(one, file).empty());
      EXPECT_TRUE(Latest(one, file) == Latest(other, file)) << file << " has other bits";
    }
  }
  static std::size_t Lines(const Ran& ran) {
    return static_cast<std::size_t>(std::count(ran.errors.begin(), ran.errors.end(), '\n'));
  }

  static constexpr const char* kFarAway = "run.stop_at_steps=1000000000";
  Workplace place_;
};

// 2,400 of 3,000 rows are learned from in batches of 512: 4 x 512 + 352 a pass. Three passes and
// four batches are 9,248 steps; four passes and one batch, 10,112.
TEST_F(DataResumed, ArraysThatWereStoppedAndResumedEndWithTheBitsOfARunThatWasNot) {
  WriteCorners(place_);
  place_.Write("c.toml", Corners("whole"));
  ASSERT_EQ(Train("c.toml", "whole").code, 0);
  const Ran stopped = Train("c.toml", "halved", "run.stop_at_steps=9000");
  ASSERT_EQ(stopped.code, 0) << stopped.errors;
  EXPECT_EQ(Steps("halved"), 9248);
  EXPECT_FALSE(Latest("halved", "weights.safetensors") == Latest("whole", "weights.safetensors"));
  const Ran further = Resume("halved", {"run.stop_at_steps=9700"});
  ASSERT_EQ(further.code, 0) << further.errors;
  EXPECT_EQ(Steps("halved"), 10112);
  const Ran resumed = Resume("halved");
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("Done: 28,800 steps learned from 3000 samples of "));
  ExpectSame("halved", "whole");
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(DataResumed, ARecordingThatWasStoppedAndResumedEndsWithTheBitsOfARunThatWasNot) {
  const Ran play = Run({"train", "cartpole", "--seed", "3", "--set", "run.name=play", "--set",
                        "run.stop_at_steps=20000", "--set", "record.path=recordings"});
  ASSERT_LE(play.code, 1) << play.errors;
  ASSERT_EQ(Train("clone", "whole", "data.passes=4").code, 0);
  place_.Write("c.toml",
               "[model]\nlayers = [64, 64]\nnormalize_observation = false\n"
               "[algorithm]\nname = \"bc\"\n[optimizer]\nlearning_rate = 3e-3\n"
               "[data]\npath = \"recordings\"\npasses = 4\nholdout = 0.1\n");
  const Ran stopped = Train("c.toml", "halved", "run.stop_at_steps=30000");
  ASSERT_EQ(stopped.code, 0) << stopped.errors;
  ASSERT_LT(Steps("halved"), Steps("whole"));
  const Ran resumed = Resume("halved");
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(Steps("halved"), Steps("whole"));
  ExpectSame("halved", "whole");
}

TEST_F(DataResumed, AfterKillNineItGoesOnFromItsLastCheckpointToTheSameBits) {
  WriteCorners(place_);
  place_.Write("c.toml", Corners("whole", "threads = 2\n[checkpoint]\nevery_steps = 4000\n"));
  ASSERT_EQ(Train("c.toml", "whole", "data.passes=100").code, 0);
  {
    Process train(place_.path(),
                  {"train", "c.toml", "--set", "run.name=killed", "--set", "data.passes=100"});
    ASSERT_TRUE(Eventually(20, [&] { return !Latest("killed", "MANIFEST.json").empty(); }))
        << train.Errors();
    train.Send(SIGKILL);
    train.Wait(20);
  }
  const Ran resumed = Resume("killed");
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(Steps("killed"), 240000);
  ExpectSame("killed", "whole");
}

TEST_F(DataResumed, ServeGoesOnToo) {
  WriteCorners(place_);
  place_.Write("c.toml", Corners("s") + "[server]\nlisten = [\"ipc\"]\n");
  ASSERT_EQ(Train("c.toml", "whole").code, 0);
  for (const char* most : {"run.stop_at_steps=9000", kFarAway}) {
    const Ran serve = Run({"serve", "c.toml", "--resume", "--set", most});
    ASSERT_EQ(serve.code, 0) << serve.errors;
  }
  ExpectSame("s", "whole");
}

TEST_F(DataResumed, WhatCannotGoOnSaysWhyAndWhatToDo) {
  WriteCorners(place_);
  place_.Write("c.toml", Corners("r"));
  ASSERT_EQ(Train("c.toml", "r", "run.stop_at_steps=3000").code, 0);
  const std::string before = Latest("r", "weights.safetensors");

  const Ran batches = Resume("r", {kFarAway, "algorithm.batch_steps=256"});
  EXPECT_EQ(batches.code, 2) << batches.output;
  EXPECT_THAT(batches.errors, HasSubstr("algorithm.batch_steps, items of a batch"));

  WriteNpy<float>(place_.path() + "/x.npy", "<f4", "(2999, 2)", std::vector<float>(5998));
  WriteNpy<std::int64_t>(place_.path() + "/y.npy", "<i8", "(2999,)",
                         std::vector<std::int64_t>(2999, 3));
  const Ran rows = Resume("r");
  EXPECT_EQ(rows.code, 3) << rows.output;
  EXPECT_THAT(rows.errors, HasSubstr("x.npy: has 24120 bytes and 2999 items, but had 24128 bytes "
                                     "and 3000 items when the run was stopped"));
  EXPECT_EQ(Lines(rows), 1u) << rows.errors;

  WriteNpy<float>(place_.path() + "/x.npy", "<f4", "(3000, 2, 1)", std::vector<float>(6000));
  WriteNpy<std::int64_t>(place_.path() + "/y.npy", "<i8", "(3000,)",
                         std::vector<std::int64_t>(3000, 3));
  const Ran shape = Resume("r");
  EXPECT_EQ(shape.code, 3) << shape.output;
  EXPECT_THAT(shape.errors, HasSubstr("x.npy: has other spaces"));
  EXPECT_EQ(Lines(shape), 1u) << shape.errors;

  WriteCorners(place_);
  EXPECT_TRUE(Latest("r", "weights.safetensors") == before) << "a refusal changed the run";
  const Ran resumed = Resume("r");
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
  const Ran over = Resume("r");
  EXPECT_EQ(over.code, 0) << over.errors;
  EXPECT_THAT(over.output, HasSubstr("has been through its files 12 times already"));
  EXPECT_EQ(Resume("r", {kFarAway, "data.passes=13"}).code, 0);
  EXPECT_EQ(Steps("r"), 31200);
}

TEST_F(DataResumed, OtherContentsOfTheSameSizeAreRefused) {
  WriteCorners(place_);
  place_.Write("c.toml", Corners("r"));
  ASSERT_EQ(Train("c.toml", "r", "run.stop_at_steps=3000").code, 0);
  WriteNpy<std::int64_t>(place_.path() + "/y.npy", "<i8", "(3000,)",
                         std::vector<std::int64_t>(3000, 3));
  WriteNpy<float>(place_.path() + "/x.npy", "<f4", "(3000, 2)", std::vector<float>(6000));
  const Ran replaced = Resume("r");
  EXPECT_EQ(replaced.code, 3) << replaced.output;
  EXPECT_THAT(replaced.errors, HasSubstr("x.npy: has the size, but not the contents that it had"));
  EXPECT_EQ(Lines(replaced), 1u) << replaced.errors;
  WriteCorners(place_);
  EXPECT_EQ(Resume("r").code, 0);
}

}  // namespace
}  // namespace murmurate
