// What a shard of a parameter server shows of itself while a learner trains through it: status,
// Prometheus, TensorBoard, its page and `murmurate top`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "tests/metrics/event_reader.h"
#include "tests/page/browse.h"
#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ShardPage : public testing::Test {
 protected:
  ShardPage() {
    WriteCorners(place_);
    place_.Write("c.toml", Corners("r",
                                   "[parameters]\nmode = \"server\"\nrule = \"asgd\"\nshards = "
                                   "[\"ipc://" +
                                       place_.path() + "/s\"]\n"));
    shard_.emplace(place_.path(), std::vector<std::string>{"params", "c.toml", "--shard", "0",
                                                           "--stay", "--set", kAnyPort});
    port_ = AwaitPage(place_, "r-shard-0");
  }
  void StartLearner() {
    learner_.emplace(place_.path(), std::vector<std::string>{"train", "c.toml", "--set",
                                                             "data.passes=1000000000"});
  }
  /// The number behind `series` in the text for Prometheus; 0 while it is not there.
  double Scrape(const std::string& series) {
    httplib::Client client = ClientOf(port_);
    const auto answer = client.Get("/metrics");
    const std::string text = answer ? answer->body : "";
    const std::size_t at = text.find('\n' + series + ' ');
    return at == text.npos ? 0 : std::stod(text.substr(at + series.size() + 2));
  }
  Workplace place_;
  std::optional<Process> shard_, learner_;
  int port_ = 0;
};

TEST_F(ShardPage, PrometheusStatusAndTopHaveItsNumbers) {
  ASSERT_GT(port_, 0) << shard_->Errors();
  StartLearner();
  const std::string of = "{shard=\"0\",name=\"default\"}";
  ASSERT_TRUE(Eventually(20, [&] { return Scrape("murmurate_shard_pushes_total" + of) > 20; }));
  EXPECT_GT(Scrape("murmurate_shard_version_total" + of), 20);
  EXPECT_GT(Scrape("murmurate_shard_merged_total" + of), 20);
  EXPECT_EQ(Scrape("murmurate_shard_members" + of), 1);
  EXPECT_GT(Scrape("murmurate_shard_pushes_per_second" + of), 0);
  const Ran status = RunMurmurate(place_.path(), {"status", "r-shard-0"});
  EXPECT_THAT(status.output,
              ::testing::ContainsRegex("model default: version [0-9,]+, 1 workers, [0-9,]+ "
                                       "pushes \\([0-9,]+ merged\\), [0-9.]+/s"));
  const Ran top = RunMurmurate(place_.path(), {"top", "r-shard-0"});
  EXPECT_THAT(top.output, HasSubstr("shard 0 of 1 ("));
  EXPECT_THAT(top.output, ::testing::ContainsRegex("0 of 1 +default +1 +[0-9,]+ "));
  const Ran of_learner = RunMurmurate(place_.path(), {"top", "r"});
  EXPECT_THAT(of_learner.output, ::testing::ContainsRegex("0 of 1 +default +1 +[0-9,]+ "))
      << "the learner's picture has the shards beside it";
}

TEST_F(ShardPage, TensorBoardHasItsCurvesOverMerges) {
  ASSERT_GT(port_, 0) << shard_->Errors();
  StartLearner();
  std::uint64_t step = 0;
  std::map<std::string, std::multimap<int, std::string>> values;
  ASSERT_TRUE(Eventually(20, [&] {
    std::error_code error;
    const std::string folder = place_.path() + "/runs/r-shard-0/models/default";
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (!entry.path().filename().string().starts_with("events.out.tfevents")) continue;
      const auto events = ReadEvents(entry.path());
      step = StepIn(events.back());
      values = ValuesIn(events.back());
    }
    return step > 20;
  }));
  for (const char* tag : {"shard/version", "shard/members", "shard/pushes", "shard/merged",
                          "shard/pushes_per_s", "shard/waiting_s"})
    EXPECT_TRUE(values.contains(tag)) << tag;
}

TEST_F(ShardPage, ABrowserShowsItsModelsAndItsLog) {
  if (Browse("about:blank --seconds 0").code == kNoBrowser)
    GTEST_SKIP() << "there is no Chromium here; scripts/install-packages.sh ci installs it";
  ASSERT_GT(port_, 0) << shard_->Errors();
  const Seen empty = Browse("http://127.0.0.1:" + std::to_string(port_) +
                            "/ --until 'The shard waits for its first worker.'");
  ASSERT_EQ(empty.code, 0);
  EXPECT_TRUE(empty.page["errors"].empty()) << empty.page["errors"];
  StartLearner();
  ASSERT_TRUE(shard_->Says("worker 0 joined")) << shard_->Errors();
  const Seen seen =
      Browse("http://127.0.0.1:" + std::to_string(port_) + "/ --until 'pushes a second'");
  ASSERT_EQ(seen.code, 0);
  const std::string text = seen.page["text"];
  EXPECT_THAT(text, AllOf(HasSubstr("shard 0 of 1"), HasSubstr("default"),
                          HasSubstr("worker 0 joined"), HasSubstr("Who waits for whom")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("NaN")), Not(HasSubstr("undefined")),
                          Not(HasSubstr("No actor has come"))));
  EXPECT_TRUE(seen.page["errors"].empty()) << seen.page["errors"];
}

}  // namespace
}  // namespace murmurate
