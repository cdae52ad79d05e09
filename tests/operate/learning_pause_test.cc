#include "server/operate/learning_pause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LearningPauseTest : public ::testing::Test {
 protected:
  LogCallback Log() {
    return [this](LogLevel, std::string_view line) { said_.emplace_back(line); };
  }
  std::string Ask(const std::string& question) {
    const auto answer = pause_.AnswerTo(question);
    if (!answer) return "another question";
    return answer->ok() ? **answer : "refused: " + answer->status().message();
  }

  std::vector<std::string> said_;
  LearningPause pause_{Log(), ""};
};

TEST_F(LearningPauseTest, IsAnsweredByTheSameWordsTwiceAndSaidOnce) {
  EXPECT_EQ(Ask("status"), "another question");
  EXPECT_EQ(Ask("unpause by b"), "learning is not paused");
  EXPECT_EQ(pause_.last_end_ns(), 0);
  const std::string first = Ask("pause by a");
  EXPECT_THAT(first, StartsWith("learning is paused by a since "));
  EXPECT_EQ(Ask("pause by b"), first);
  EXPECT_TRUE(*pause_.flag());
  ASSERT_TRUE(pause_.Report());
  EXPECT_EQ(pause_.Report()->by, "a");
  const std::int64_t before_ns = MonotonicNs();
  EXPECT_THAT(Ask("unpause by b"), HasSubstr(", ended by b"));
  EXPECT_GE(pause_.last_end_ns(), before_ns);
  EXPECT_FALSE(pause_.Report());
  EXPECT_FALSE(*pause_.flag());
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(LearningPauseTest, NoneBeginsAfterTheRunHasLiftedIt) {
  (void)Ask("pause by a");
  pause_.Lift();
  EXPECT_FALSE(*pause_.flag());
  EXPECT_THAT(said_.back(), HasSubstr("ended by the end of the run"));
  EXPECT_THAT(Ask("pause by a"), HasSubstr("refused: learning cannot be paused any more"));
  EXPECT_FALSE(*pause_.flag());
}

/// A thread sanitizer sees what they share without a lock.
TEST_F(LearningPauseTest, MayBeLiftedWhileItIsAskedFor) {
  LearningPause pause([](LogLevel, std::string_view) {}, "");
  std::thread asks([&] {
    for (int i = 0; i < 1000; ++i) {
      (void)pause.AnswerTo("pause by a");
      (void)pause.AnswerTo("unpause by a");
    }
    (void)pause.AnswerTo("pause by a");
  });
  pause.Lift();
  asks.join();
  EXPECT_FALSE(*pause.flag());
}

TEST_F(LearningPauseTest, NamesTheReasonWhyThereIsNoneAndTheLearnersThatGoOn) {
  LearningPause refused(Log(), "it is one of four ranks");
  EXPECT_EQ(refused.AnswerTo("pause by a")->status().message(), "it is one of four ranks");
  EXPECT_THAT(said_, IsEmpty());
  LearningPause one(Log(), "", "others go on");
  const std::string sentence = **one.AnswerTo("pause by a");
  EXPECT_THAT(sentence, ::testing::EndsWith("; others go on"));
  EXPECT_EQ(**one.AnswerTo("pause by a"), sentence);
}

TEST_F(LearningPauseTest, AThreadThatWaitsIsWokenByItsEndAndByWhatItWaitsFor) {
  pause_.Await(minutes(5), [] { return false; });  // not paused
  (void)Ask("pause by a");
  pause_.Await(std::chrono::milliseconds(1), [] { return false; });
  pause_.Await(minutes(5), [] { return true; });
  std::atomic<bool> due{false};
  std::thread other([&] { pause_.Await(minutes(5), [&] { return due.load(); }); });
  due = true;
  pause_.Wake();
  other.join();
  std::thread last([&] { pause_.Await(minutes(5), [] { return false; }); });
  (void)Ask("unpause by a");
  last.join();
}

}  // namespace
}  // namespace murmurate
