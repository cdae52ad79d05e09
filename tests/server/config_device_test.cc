// [model] device: which words it takes, and what it refuses beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/config_text.h"

namespace murmurate {
namespace {

DeviceSettings DeviceOf(const std::string& text, const std::string& model = "default") {
  const auto config = Load(text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? ModelFor(*config, model, kSpaces)->device : DeviceSettings{};
}

TEST(ConfigTrainingDevice, TheProcessorIsTheDefault) {
  const DeviceSettings device = DeviceOf("");
  EXPECT_TRUE(device.processor());
  EXPECT_EQ(device.precision, DevicePrecision::kFp32);
  EXPECT_TRUE(device.deterministic);
  EXPECT_TRUE(device.tune);
}

TEST(ConfigTrainingDevice, WordsReachTheModel) {
  const DeviceSettings device = DeviceOf(
      "[model]\ndevice = \"cuda:3\"\nprecision = \"bf16\"\ndeterministic = false\n"
      "tune = false\n");
  EXPECT_EQ(device.name, "cuda:3");
  EXPECT_EQ(device.precision, DevicePrecision::kBf16);
  EXPECT_FALSE(device.deterministic);
  EXPECT_FALSE(device.tune);
  EXPECT_EQ(InWords(device), "cuda:3, bf16, not deterministic, not tuned");
  EXPECT_TRUE(DeviceOf("[model]\ndevice = \"cuda\"\n").gpu());
  EXPECT_TRUE(DeviceOf("[model]\ndevice = \"auto\"\nprecision = \"tf32\"\n").chosen());
  const std::string two = "[model]\ndevice = \"cuda\"\nprecision = \"tf32\"\n[model.npc]\n";
  EXPECT_TRUE(DeviceOf(two + "device = \"cpu\"\n", "npc").processor())
      << "precision is the other models'";
  EXPECT_EQ(DeviceOf(two + "device = \"cuda:1\"\n", "npc").precision, DevicePrecision::kTf32);
  EXPECT_TRUE(Load(ResolvedToml(*Load("[model]\ndevice = \"cuda:1\"\n"))).ok());
}

TEST(ConfigTrainingDevice, OtherWordsAreRefused) {
  EXPECT_EQ(Complaint("[model]\ndevice = \"gpu\"\n"),
            "c.toml:2: model.device: got \"gpu\", expected \"cpu\", \"cuda\", \"cuda:N\" with the "
            "number of a GPU (the first is 0), or \"auto\"; write for example device = \"cuda:0\"");
  for (const char* bad : {"cuda:", "cuda:64", "cuda:-1", "cuda:01", "cuda:1x", "CUDA", "cuda0"})
    EXPECT_THAT(Complaint("[model]\ndevice = \"" + std::string(bad) + "\"\n"),
                testing::HasSubstr("model.device: got"));
  EXPECT_THAT(Complaint("[model]\ndevice = \"cuda\"\nprecision = \"fp16\"\n"),
              testing::HasSubstr("expected \"fp32\" or \"tf32\" or \"bf16\""));
}

TEST(ConfigTrainingDevice, WhatOnlyAGpuHasIsRefusedOnTheProcessor) {
  EXPECT_EQ(Complaint("[model]\nprecision = \"tf32\"\n"),
            "c.toml:2: model.precision: got \"tf32\", expected no such line, because only a GPU "
            "has it, and device is \"cpu\"; take it out, or write device = \"cuda:0\"");
  EXPECT_THAT(Complaint("[model]\ndeterministic = false\n"),
              testing::StartsWith("c.toml:2: model.deterministic: got false, expected no such"));
  EXPECT_TRUE(Load("[model]\nprecision = \"fp32\"\ndeterministic = true\n").ok())
      << "as a resolved config spells it out";
}

TEST(ConfigTrainingDevice, ThreadsAreTheProcessors) {
  EXPECT_EQ(Complaint("[model]\ndevice = \"cuda\"\nthreads = 4\n"),
            "c.toml:3: model.threads: got 4, expected 1, because a GPU computes the minibatches; "
            "take the line out, or write device = \"auto\", which uses threads where it stays on "
            "the processor");
  EXPECT_TRUE(Load("[model]\ndevice = \"auto\"\nthreads = 4\n").ok());
}

TEST(ConfigTrainingDevice, OfAReplayItTrainsDqnAndSacAlone) {
  const auto with = [](const std::string& name) {
    return "[algorithm]\nname = \"" + name + "\"\n[model]\ndevice = \"cuda:0\"\n";
  };
  EXPECT_EQ(DeviceOf(with("dqn")).name, "cuda:0");
  EXPECT_TRUE(Load(with("sac")).ok());
  EXPECT_EQ(Complaint(with("td3")),
            "c.toml:4: model.device: got \"cuda:0\", expected \"cpu\", because td3 is trained on "
            "the processor only; take the line out, or write device = \"auto\"");
  EXPECT_EQ(Complaint(with("dqn") + "[parameters]\ncollective = \"mpi\"\n"),
            "c.toml:4: model.device: got \"cuda:0\", expected \"cpu\", because several learners of "
            "dqn are trained on processors only; take the line out, or take [parameters] out");
}

TEST(ConfigTrainingDevice, KeepsRowsOfAReplayWhereItTrains) {
  const std::string dqn = "[algorithm]\nname = \"dqn\"\n[replay]\nmemory = \"device\"\n";
  const std::string cuda = "[model]\ndevice = \"cuda:0\"\n";
  EXPECT_TRUE(Load(dqn + cuda).ok());
  EXPECT_TRUE(Load(dqn + "[model]\ndevice = \"auto\"\n").ok()) << "and on the processor nothing";
  EXPECT_EQ(
      Complaint(dqn),
      "c.toml:4: replay.memory: got \"device\", expected \"host\", because device of [model] is "
      "\"cpu\"; take the line out, or write device = \"cuda:0\"");
  EXPECT_THAT(Complaint(dqn + "demonstrations = \"/play\"\ndemonstration_share = 0.5\n" + cuda),
              testing::HasSubstr("demonstration_share keeps demonstrations apart"));
  EXPECT_THAT(Complaint(dqn + "capacity = 3_000_000_000\n" + cuda),
              testing::HasSubstr("at most 2000000000 with memory"));
}

TEST(ConfigTrainingDevice, HogwildStepsABlockOfThisProcessor) {
  const std::string hogwild =
      "[optimizer]\nname = \"sgd\"\n[parameters]\nrule = \"hogwild\"\n[model]\ndevice = ";
  EXPECT_EQ(Complaint(hogwild + "\"cuda:0\"\n"),
            "c.toml:6: model.device: got \"cuda:0\", expected \"cpu\", because rule = \"hogwild\" "
            "of [parameters] is threads of this processor that step one block; take one of the two "
            "lines out");
  EXPECT_THAT(Complaint(hogwild + "\"auto\"\n"), testing::HasSubstr("expected \"cpu\""));
  EXPECT_TRUE(Load(hogwild + "\"cpu\"\n").ok());
}

}  // namespace
}  // namespace murmurate
