#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/config_text.h"

namespace murmurate {
namespace {

const std::string kSgd = "[optimizer]\nname = \"sgd\"\n";
const std::string kHogwild = kSgd + "[parameters]\nrule = \"hogwild\"\n";

TEST(ConfigHogwild, ThreadsAndLockingReachTheModel) {
  const auto usual = Load(kHogwild);
  ASSERT_TRUE(usual.ok()) << usual.status();
  const auto one = ModelFor(*usual, "default", kSpaces);
  ASSERT_TRUE(one->hogwild.has_value());
  EXPECT_EQ(one->hogwild->threads, 1);
  EXPECT_FALSE(one->hogwild->locking);
  EXPECT_FALSE(one->remote.has_value());
  const auto two = ModelFor(*Load(kHogwild + "threads = 2\nlocking = true\n"), "default", kSpaces);
  EXPECT_EQ(two->hogwild->threads, 2);
  EXPECT_TRUE(two->hogwild->locking);
  EXPECT_FALSE(ModelFor(*Load(""), "default", kSpaces)->hogwild.has_value());
  EXPECT_TRUE(Load(ResolvedToml(*Load(kHogwild + "threads = 2\n"))).ok());
  EXPECT_TRUE(Load(ResolvedToml(*Load(""))).ok());
}

TEST(ConfigHogwild, ThreadsOfOtherRulesAreRefused) {
  EXPECT_EQ(Complaint("[parameters]\nthreads = 2\n"),
            "c.toml:2: parameters.threads: got 2, expected no such line, because only rule = "
            "\"hogwild\" has threads that step one block; take it out, or write rule = \"hogwild\" "
            "([model] threads share a minibatch)");
  EXPECT_THAT(Complaint("[parameters]\nlocking = true\n"),
              testing::StartsWith("c.toml:2: parameters.locking: got true, expected no such line"));
  EXPECT_THAT(Complaint(kHogwild + "threads = 65\n"),
              testing::HasSubstr("expected an integer from 1 to 64"));
}

TEST(ConfigHogwild, MoreThanOneLearnerIsRefused) {
  EXPECT_EQ(Complaint("[run]\nlearners = 3\n" + kHogwild),
            "c.toml:2: run.learners: got 3, expected 1, because hogwild is threads of one learner; "
            "write threads = 3 in [parameters] instead, or rule = \"asgd\"");
  EXPECT_EQ(Complaint("[run]\nshards = 1\n" + kHogwild),
            "c.toml:2: run.shards: got 1, expected 0, because hogwild is threads of one learner; "
            "take the line out, or write rule = \"asgd\"");
  EXPECT_EQ(Complaint(kHogwild + "mode = \"server\"\nshards = [\"tcp://127.0.0.1:7430\"]\n"),
            "c.toml:5: parameters.mode: got \"server\", expected \"local\", because hogwild is "
            "threads of one learner; take the line out, or write rule = \"asgd\"");
}

TEST(ConfigHogwild, OnlyPlainStepsAreMade) {
  EXPECT_EQ(Complaint("[parameters]\nrule = \"hogwild\"\n"),
            "c.toml:2: optimizer.name: got \"adam\", expected \"sgd\", because hogwild makes plain "
            "steps; write name = \"sgd\" in [optimizer], and a learning_rate for it");
  EXPECT_THAT(Complaint("[optimizer]\nname = \"momentum\"\n[parameters]\nrule = \"hogwild\"\n"),
              testing::StartsWith("c.toml:2: optimizer.name: got \"momentum\", expected \"sgd\""));
  EXPECT_THAT(Complaint(kHogwild + "[model.npc.optimizer]\nname = \"adam\"\n"),
              testing::StartsWith("c.toml:6: model.npc.optimizer.name: got \"adam\""));
  EXPECT_EQ(Complaint("[optimizer]\nname = \"sgd\"\nweight_decay = 0.1\n[parameters]\n"
                      "rule = \"hogwild\"\n"),
            "c.toml:3: optimizer.weight_decay: got 0.1, expected 0, because hogwild makes plain "
            "steps; take the line out");
}

}  // namespace
}  // namespace murmurate
