#include "server/top/run_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

bool Soon(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

struct Scene {
  TemporaryFolder folder;
  std::atomic<int> asked = 0;
  std::atomic<bool> answers = true, alive = true;

  std::string Answer() const {
    return nlohmann::json{{"directory", folder.path()},
                          {"asked", asked.load()},
                          {"models", {{{"name", "a"}}, {{"name", "b"}}}}}
        .dump();
  }
  RunSource Source() {
    return {
        .ask = [this]() -> Result<std::string> {
          ++asked;
          if (!answers) return Unavailable("no answer");
          return Answer();
        },
        .ask_shards = [](const std::string&) { return std::vector<std::string>{R"({"shard":1})"}; },
        .alive = [this] { return alive.load(); }};
  }
};

TEST(RunFeed, AsksOnceASecond) {
  Scene scene;
  RunFeed feed(scene.Source(), scene.Answer(), [] {});
  EXPECT_EQ(scene.asked, 0) << "an answer is there already";
  EXPECT_EQ(feed.Latest().snapshot->shards.at(0)["shard"], 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  EXPECT_GE(scene.asked, 1);
  EXPECT_LE(scene.asked, 2);
}

TEST(RunFeed, ASilentLearnerIsSaidAndOneThatIsGoneEndsIt) {
  Scene scene;
  std::atomic<int> news = 0;
  RunFeed feed(scene.Source(), scene.Answer(), [&] { ++news; });
  scene.answers = false;
  ASSERT_TRUE(Soon([&] { return !feed.Latest().snapshot->note.empty(); }));
  EXPECT_THAT(feed.Latest().snapshot->note,
              ::testing::StartsWith("it is alive, but has not answered for "));
  EXPECT_FALSE(feed.Latest().gone);
  scene.answers = true;
  ASSERT_TRUE(Soon([&] { return feed.Latest().snapshot->note.empty(); }));
  scene.answers = false;
  scene.alive = false;
  ASSERT_TRUE(Soon([&] { return feed.Latest().gone; }));
  EXPECT_NE(feed.Latest().snapshot, nullptr);
  EXPECT_GE(news, 3);
}

TEST(RunFeed, ShowsTheCurvesOfTheModelThatIsShownAsTheyGrow) {
  Scene scene;
  std::filesystem::create_directories(scene.folder.path() + "/models/b");
  std::ofstream first(scene.folder.path() + "/progress.csv");
  first << "time/total_timesteps,rollout/ep_rew_mean\n100,1.5\n" << std::flush;
  std::ofstream(scene.folder.path() + "/models/b/progress.csv")
      << "time/total_timesteps,stream/error,stream/baseline_error\n10,0.5,0.75\n";
  RunFeed feed(scene.Source(), scene.Answer(), [] {});
  EXPECT_EQ(feed.Latest().snapshot->curves.at(0).points.size(), 1u);
  first << "200,2.5\n" << std::flush;
  ASSERT_TRUE(Soon([&] { return feed.Latest().snapshot->curves.at(0).points.size() == 2; }));
  feed.ShowNextModel();
  ASSERT_TRUE(Soon([&] { return feed.Latest().snapshot->model == 1; }));
  const auto curves = feed.Latest().snapshot->curves;
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].points.at(0).mean_return, 0.5);
  EXPECT_EQ(curves[1].name, "naive forecast");
  feed.ShowNextModel();
  ASSERT_TRUE(Soon([&] { return feed.Latest().snapshot->model == 0; }));
}

}  // namespace
}  // namespace murmurate
