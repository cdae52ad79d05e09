#include "server/operate/reports.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "server/metrics/model_metrics.h"
#include "server/metrics/reported_file.h"
#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

/// reports.csv of a model, and what is reported.
struct Fixture {
  void WriteRow(std::uint64_t steps) {
    Reading reading;
    reading.Set(kEnvironmentSteps, steps);
    reports.EndRow(&reading);
    EXPECT_TRUE(file->Write(reading).ok());
  }
  std::vector<double> Means() const {
    Reading reading;
    reports.AddLive(&reading);
    std::vector<double> means;
    for (const MetricSample& sample : reading.samples()) means.push_back(*sample.value.number());
    return means;
  }

  TemporaryFolder folder;
  Reports reports;
  std::unique_ptr<MetricSink> file = *OpenReportedFile({folder.path()});
};

TEST(Reports, AreMeansOverTheEpisodesOfAnInterval) {
  Fixture fixture;
  fixture.reports.Add({"kills", 6.0, 2});
  fixture.reports.Add({"time", 1.5, 1});
  fixture.reports.Add({"kills", 3.0, 4});
  fixture.WriteRow(100);
  fixture.WriteRow(150);  // nothing new: no row
  fixture.reports.Add({"kills", 3.0, 4});
  fixture.WriteRow(200);
  EXPECT_EQ(*ReadFile(fixture.folder.path() + "/reports.csv", 10000),
            "steps,name,mean,count\n100,kills,1.5,6\n100,time,1.5,1\n200,kills,0.75,4\n");
}

TEST(Reports, WithoutAnyThereIsNoFile) {
  Fixture fixture;
  fixture.WriteRow(100);
  EXPECT_FALSE(std::filesystem::exists(fixture.folder.path() + "/reports.csv"));
}

TEST(Reports, MeansAreOfTheLastHundredEpisodesOrAFewMore) {
  Fixture fixture;
  fixture.reports.Add({"kills", 0.0, 60});
  fixture.reports.Add({"kills", 60.0, 60});
  EXPECT_DOUBLE_EQ(fixture.Means().at(0), 0.5);  // 120 episodes: without the first, 60
  fixture.reports.Add({"kills", 120.0, 60});
  fixture.reports.Add({"time", 8.0, 4});
  ASSERT_EQ(fixture.Means().size(), 2u);
  EXPECT_DOUBLE_EQ(fixture.Means()[0], 1.5);
  EXPECT_DOUBLE_EQ(fixture.Means()[1], 2.0);
}

}  // namespace
}  // namespace murmurate
