#include "server/operate/reports.h"

#include <gtest/gtest.h>

#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

TEST(Reports, AreMeansOverTheEpisodesOfAnInterval) {
  TemporaryFolder folder;
  Reports reports;
  const std::vector<wire::ReportedNumber> first{{"kills", 6.0, 2}, {"time", 1.5, 1}},
      second{{"kills", 3.0, 4}};
  reports.Take(first);
  reports.Take(second);
  ASSERT_TRUE(reports.Write(folder.path(), 100).ok());
  ASSERT_TRUE(reports.Write(folder.path(), 150).ok());  // nothing new: no row
  reports.Take(second);
  ASSERT_TRUE(reports.Write(folder.path(), 200).ok());
  EXPECT_EQ(*ReadFile(folder.path() + "/reports.csv", 10000),
            "steps,name,mean,count\n100,kills,1.5,6\n100,time,1.5,1\n200,kills,0.75,4\n");
}

TEST(Reports, WithoutAnyThereIsNoFile) {
  TemporaryFolder folder;
  Reports reports;
  ASSERT_TRUE(reports.Write(folder.path(), 100).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/reports.csv"));
}

TEST(Reports, MeansAreOfTheLastHundredEpisodesOrAFewMore) {
  Reports reports;
  reports.Take(std::vector<wire::ReportedNumber>{{"kills", 0.0, 60}});
  reports.Take(std::vector<wire::ReportedNumber>{{"kills", 60.0, 60}});
  EXPECT_DOUBLE_EQ(reports.Means().at(0).second, 0.5);  // 120 episodes: without the first, 60
  reports.Take(std::vector<wire::ReportedNumber>{{"kills", 120.0, 60}, {"time", 8.0, 4}});
  ASSERT_EQ(reports.Means().size(), 2u);
  EXPECT_DOUBLE_EQ(reports.Means()[0].second, 1.5);
  EXPECT_DOUBLE_EQ(reports.Means()[1].second, 2.0);
}

}  // namespace
}  // namespace murmurate
