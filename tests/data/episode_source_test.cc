// Episodes in arrays, and recorded play cut into the trajectories of a model.
#include "server/data/episode_source.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "server/data/open_play.h"
#include "server/data/recorded_steps.h"
#include "shared/model/policy_and_value.h"
#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Row i has the observation {i, -i}, the action i / 10 and the reward 1 + i.
class EpisodesTest : public testing::Test {
 protected:
  void Write(std::uint64_t rows, const std::vector<std::uint64_t>& terminated,
             const std::vector<std::uint64_t>& cut, bool with_next = false) {
    std::vector<float> seen, action, after;
    std::vector<double> reward;
    std::vector<std::uint8_t> ends(rows, 0), cuts(rows, 0);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const auto number = static_cast<float>(i);
      seen.insert(seen.end(), {number, -number});
      after.insert(after.end(), {number + 0.5f, -number});
      action.push_back(number / 10.0f);
      reward.push_back(1.0 + static_cast<double>(i));
    }
    for (const std::uint64_t row : terminated) ends[row] = 1;
    for (const std::uint64_t row : cut) cuts[row] = 1;
    const std::string n = std::to_string(rows);
    WriteNpy(Path("observations"), "<f4", "(" + n + ", 2)", seen);
    WriteNpy(Path("actions"), "<f4", "(" + n + ", 1)", action);
    WriteNpy(Path("rewards"), "<f8", "(" + n + ",)", reward);
    WriteNpy(Path("terminations"), "|b1", "(" + n + ",)", ends);
    WriteNpy(Path("truncations"), "|u1", "(" + n + ",)", cuts);
    if (with_next) WriteNpy(Path("next_observations"), "<f4", "(" + n + ", 2)", after);
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name + ".npy"; }
  static ModelSpec Model(const ContinuousSettings& continuous = {}, int stack = 1) {
    PolicyAndValue model{.spaces = {Box({2}), Box({1}, -1, 4)},
                         .trunk = {{4, Activation::kTanh}},
                         .continuous = continuous};
    ModelSpec spec = model.ToSpec();
    if (stack > 1)
      for (NetworkSpec& network : spec.networks) network.encoders = {{.stack = stack}};
    return spec;
  }
  std::string Complaint(const Spaces* game = nullptr) const {
    return EpisodeSource::Open(folder_.path(), game).status().message();
  }

  const TemporaryFolder folder_;
};

TEST_F(EpisodesTest, EndAsTheArraysSayAndWhatFollowsIsOftenNotKnown) {
  // 0..3 terminated; 4..8 cut, of which 8 is only what was seen after 7; 9..11 not ended.
  Write(12, {3}, {8});
  auto source = EpisodeSource::Open(folder_.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->steps(), 4u + 4 + 2);
  EXPECT_EQ((*source)->items(), 3u);
  EXPECT_EQ((*source)->Returns(), "3 recorded episodes have a mean return of 19.0");
  EXPECT_EQ((*source)->spaces().action, Box({1}, 0.0f, 1.1f)) << "all that was recorded";
  const Spaces game{Box({2}), Box({1}, -1, 4)};
  source = EpisodeSource::Open(folder_.path(), &game);
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE((*source)->PrepareFor(Model(), 16).ok());
  TrainingBatch batch(TrajectoryLayout(Model(), 16), 3);
  const std::uint64_t all[] = {0, 1, 2};
  ASSERT_TRUE((*source)->Fill(all, &batch).ok());
  const auto flags = [&](int slot) {
    const auto of = batch.View(slot).flags;
    return std::vector<int>(of.begin(), of.end());
  };
  EXPECT_THAT(flags(0), ElementsAre(kFirst, 0, 0, kTerminatedFlag));
  EXPECT_THAT(flags(1), ElementsAre(kFirst, 0, 0, kTruncatedFlag));
  EXPECT_THAT(flags(2), ElementsAre(kFirst, kTruncatedFlag));
  EXPECT_EQ(batch.View(1).reward[0], 5.0f);
  EXPECT_EQ(std::bit_cast<float>(batch.View(1).action[3]), 0.7f);
  const auto final = NumbersOf(batch.View(1).final_observation);
  EXPECT_THAT(std::vector<float>(final.begin(), final.end()), ElementsAre(8, -8));
}

TEST_F(EpisodesTest, WithNextObservationsEveryRowIsAStep) {
  Write(40, {}, {39}, true);
  auto source = EpisodeSource::Open(folder_.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->steps(), 40u);
  EXPECT_EQ((*source)->items(), 3u) << "pieces of 16 steps";
  const Spaces game{Box({2}), Box({1}, -1, 4)};
  source = EpisodeSource::Open(folder_.path(), &game);
  const ModelSpec stacks = Model({}, 3);
  ASSERT_TRUE((*source)->PrepareFor(stacks, 16).ok());
  TrainingBatch batch(TrajectoryLayout(stacks, 16), 2);
  const std::uint64_t last_two[] = {1, 2};
  ASSERT_TRUE((*source)->Fill(last_two, &batch).ok());
  EXPECT_EQ(NumbersOf(batch.View(0).next_observation)[0], 31.5f);
  EXPECT_EQ(NumbersOf(batch.View(1).final_observation)[0], 39.5f);
  const auto before = NumbersOf(batch.View(0).frames0);
  EXPECT_THAT(std::vector<float>(before.begin(), before.end()), ElementsAre(14, -14, 15, -15));
  EXPECT_EQ(batch.View(0).flags[0], 0) << "an episode goes on";
}

TEST_F(EpisodesTest, AReplayGetsThemInTrajectoriesOfItsModel) {
  Write(40, {20}, {39}, true);
  const auto play = RecordedSteps::Open(folder_.path(), Model({.squashed = true}), 5);
  ASSERT_TRUE(play.ok()) << play.status();
  EXPECT_EQ((*play)->steps(), 40u);
  float expected = 0.0f;
  ASSERT_TRUE((*play)
                  ->Visit([&](const TrajectoryView& view) {
                    EXPECT_LE(view.steps, 5);
                    EXPECT_GE(view.agent, 1u << 31);
                    EXPECT_EQ(view.first_step, static_cast<std::uint64_t>(expected));
                    for (int step = 0; step < view.steps; ++step, ++expected) {
                      EXPECT_EQ(NumbersOf(view.observation)[2 * static_cast<std::size_t>(step)],
                                expected);
                      // The game's box is -1 to 4: tanh of the sample is -1 to 1.
                      const float sample =
                          std::bit_cast<float>(view.action[static_cast<std::size_t>(step)]);
                      EXPECT_NEAR(1.5 + 2.5 * std::tanh(double{sample}), expected / 10.0f, 1e-5);
                    }
                  })
                  .ok());
  EXPECT_EQ(expected, 40.0f);
}

TEST_F(EpisodesTest, ChoicesAreCheckedAgainstTheGame) {
  Write(8, {3, 7}, {});
  WriteNpy<std::int64_t>(Path("actions"), "<i8", "(8,)", {0, 1, 2, 1, 0, 2, 1, 0});
  const auto source = EpisodeSource::Open(folder_.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->spaces().action.choices, std::vector<int>{}) << "one of three";
  EXPECT_EQ((*source)->spaces().action.n, 3);
  const Spaces two{Box({2}), Discrete(2)};
  EXPECT_THAT(Complaint(&two), HasSubstr("actions.npy: row 2: "));
  const Spaces numbers{Box({2}), Box({1}, 0, 1)};
  EXPECT_THAT(Complaint(&numbers), HasSubstr("actions.npy: has int64 (8,), expected an action"));
  const Spaces wide{Box({3}), Discrete(3)};
  EXPECT_THAT(Complaint(&wide), HasSubstr("observations.npy: has float32 (8, 2), expected what"));
}

TEST_F(EpisodesTest, RefusesInWords) {
  EXPECT_THAT(OpenPlay(folder_.path(), nullptr).status().message(),
              HasSubstr("holds no recording"));
  Write(8, {3}, {});
  std::filesystem::remove(Path("rewards"));
  EXPECT_THAT(Complaint(), HasSubstr("rewards.npy: is not there"));
  WriteNpy<float>(Path("rewards"), "<f4", "(7,)", std::vector<float>(7));
  EXPECT_THAT(Complaint(), HasSubstr("rewards.npy: has 7 rows and"));
  WriteNpy<float>(Path("rewards"), "<f4", "(8,)", std::vector<float>(8, NAN));
  EXPECT_THAT(Complaint(), HasSubstr("rewards.npy: row 0 holds a number that is not finite"));
  WriteNpy<float>(Path("rewards"), "<f4", "(8, 2)", std::vector<float>(16));
  EXPECT_THAT(Complaint(), HasSubstr("has float32 (8, 2), expected float32 or float64 of one"));
  WriteNpy<float>(Path("rewards"), "<f4", "(8,)", std::vector<float>(8));
  WriteNpy<float>(Path("terminations"), "<f4", "(8,)", std::vector<float>(8));
  EXPECT_THAT(Complaint(), HasSubstr("expected bool or whole numbers, one a row"));
  Write(1, {}, {});
  EXPECT_THAT(Complaint(), HasSubstr("is the same in all rows"));
  const Spaces game{Box({2}), Box({1}, -1, 4)};
  EXPECT_THAT(Complaint(&game), HasSubstr("no step lies in its 1 rows"));
  Write(8, {3}, {});
  const auto source = EpisodeSource::Open(folder_.path(), &game);
  EXPECT_THAT((*source)->PrepareFor(Model(), 8).message(), HasSubstr("expected at least 16"));
}

}  // namespace
}  // namespace murmurate
