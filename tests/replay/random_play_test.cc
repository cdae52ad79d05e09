// Random play of several agents against a replay that forgets all the time: after each trajectory the
// closed rows are exactly those that the lives say, and each sample is what its agent lived.
#include <gtest/gtest.h>

#include <string>

#include "shared/core/random.h"
#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kAgents = 5;

std::string RandomSteps(int most, int finals, Random* random) {
  std::string steps(1 + random->UniformInt(static_cast<std::uint32_t>(most)), '.');
  for (char& step : steps) {
    const std::uint32_t kind = random->UniformInt(12);
    if (kind == 0) step = 'x';
    if (kind == 1 && finals-- > 0) step = 't';
  }
  return steps;
}

void Rest(PlayedAgent* agent, Random* random) {
  const std::uint32_t kind = random->UniformInt(12);
  if (kind == 0) agent->Lose(RandomSteps(6, 9, random));
  if (kind == 1 && !agent->life().empty() && (agent->life().back().flags & PlayedAgent::kEnd) == 0)
    agent->GiveUp();
}

void PlayAndCompare(const ReplaySettings& settings, int length) {
  const TrajectoryLayout layout = PlayedLayout(length);
  TestReplay replay(settings, layout);
  Random random(settings.capacity);
  std::vector<PlayedAgent> agents;
  for (std::uint32_t i = 0; i < kAgents; ++i) agents.emplace_back(i);
  TrainingBatch batch(replay.batch_layout, 1);
  std::uint64_t samples = 0;
  for (int round = 0; round < 1500 && !::testing::Test::HasFailure(); ++round) {
    PlayedAgent& agent = agents[random.UniformInt(kAgents)];
    Rest(&agent, &random);
    replay.Insert(agent.Play(RandomSteps(length, layout.max_finals, &random)).View());
    ASSERT_LE(replay.rows.size(), settings.capacity);
    std::uint64_t closed = 0;
    for (std::uint64_t row = replay.rows.first_row(); row < replay.rows.end_row(); ++row) {
      const RowPlace place = replay.rows.PlaceOf(row);
      const Chunk& chunk = replay.rows.At(place.chunk);
      const std::size_t step = chunk.first_step + static_cast<std::size_t>(place.step);
      const PlayedAgent& of = agents[chunk.agent];
      ASSERT_EQ(replay.windows.IsClosed(row), IsClosed(of, step, replay.form))
          << "agent " << chunk.agent << " step " << step << " round " << round;
      closed += replay.windows.IsClosed(row);
      if (!replay.windows.IsClosed(row) || row % 7 != static_cast<unsigned>(round % 7)) continue;
      batch.Clear();
      replay.copy.Add(row, 0.75f, &batch);
      ASSERT_EQ(batch.trajectories[0].first_step, step);
      ExpectSample(batch, 0, of, replay.form, 0.75f);
      ++samples;
    }
    ASSERT_EQ(replay.windows.closed(), closed);
  }
  EXPECT_GT(samples, 1500u);
}

TEST(RandomPlay, OneStepWindows) { PlayAndCompare({.capacity = 37, .window = 1}, 8); }
TEST(RandomPlay, WindowsOfThree) { PlayAndCompare({.capacity = 61, .window = 3}, 8); }
TEST(RandomPlay, WindowsLongerThanChunks) { PlayAndCompare({.capacity = 90, .window = 11}, 4); }
TEST(RandomPlay, Sequences) { PlayAndCompare({.capacity = 120, .sequence = 16}, 8); }

}  // namespace
}  // namespace murmurate
