// The page in a real Chromium, during a real training run, beside an earlier run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/browse.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Browser, ShowsTheNumbersOfTheRunInBothSizesAndColours) {
  if (Browse("about:blank --seconds 0").code == kNoBrowser)
    GTEST_SKIP() << "there is no Chromium here; scripts/install-packages.sh ci installs it";
  Workplace place;
  const Ran earlier =
      RunMurmurate(place.path(), {"train", "cartpole", "--set", "run.name=earlier", "--set",
                                  "run.stop_at_steps=3000", "--set", "run.log_interval_s=0.2"});
  ASSERT_EQ(earlier.code, 1) << earlier.errors;
  Process train(place.path(), {"train", "cartpole", "--set", kAnyPort, "--set",
                               "run.stop_at_return=1000", "--set", "run.steps=100000000", "--set",
                               "run.log_interval_s=0.2", "--actors", "2"});
  const int port = AwaitPage(place, "cartpole");
  ASSERT_GT(port, 0) << train.Errors();
  ASSERT_TRUE(train.Says("  return ")) << train.Errors();
  const std::string page = "http://127.0.0.1:" + std::to_string(port) + "/ --until '2 live of 2' ";
  for (const char* size : {"--width 1280 --height 900", "--width 390 --height 844 --dark"}) {
    const Seen seen = Browse(page + size);
    ASSERT_EQ(seen.code, 0);
    const std::string text = seen.page["text"];
    EXPECT_THAT(text, AllOf(HasSubstr("cartpole"), HasSubstr("actor-0"), HasSubstr("actor-1"),
                            HasSubstr("mean return"), HasSubstr("\"ppo\""),
                            HasSubstr("Who waits for whom"), HasSubstr("joined with")));
    EXPECT_THAT(text, Not(HasSubstr("NaN")));
    EXPECT_THAT(text, Not(HasSubstr("undefined")));
    EXPECT_TRUE(seen.page["errors"].empty()) << seen.page["errors"];
    EXPECT_GE(seen.page["drawn"].get<int>(), 3) << "curves, speed and staleness at least";
    const int width = std::string(size).find("390") != std::string::npos ? 390 : 1280;
    EXPECT_LE(seen.page["width"].get<int>(), width) << "nothing stands out to the side";
  }
}

}  // namespace
}  // namespace murmurate
