// Random play of several agents against a replay that forgets all the time: after each trajectory
// the closed rows are exactly those that the lives say, and each sample is what its agent lived.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "shared/core/random.h"
#include "tests/replay/test_replay.h"

namespace murmurate {
namespace {

/// A copy of a replay's rows, and samples of names made into samples of rows.
class Mirror {
 public:
  Mirror(const SampleForm& form, const TrajectoryLayout& layout)
      : row_bytes_(layout.row_bytes()), batch_(WindowCopy::BatchLayout(OfRows(form), layout), 1) {}

  void Update(KeptRows* kept) {
    rows_.resize(kept->places() * row_bytes_);
    for (const KeptRows::Range& range : kept->PopWritten())
      std::memcpy(&rows_[range.first * row_bytes_], kept->RowAt(range.first),
                  range.count * row_bytes_);
  }
  const TrainingBatch& Rows(const TrainingBatch& named) {
    batch_.Clear();
    batch_.trajectories = named.trajectories;
    batch_.masked = named.masked;
    Resolve(named.observation, batch_.observation);
    Resolve(named.frames0, batch_.frames0);
    Resolve(named.next_observation, batch_.next_observation);
    Resolve(named.final_observation, batch_.final_observation);
    const auto copy = [](const auto& from, const auto& to) { std::ranges::copy(from, to.begin()); };
    copy(named.action, batch_.action);
    copy(named.log_prob, batch_.log_prob);
    copy(named.reward, batch_.reward);
    copy(named.flags, batch_.flags);
    copy(named.weight, batch_.weight);
    copy(named.mask, batch_.mask);
    copy(named.state0, batch_.state0);
    batch_.final_row = {batch_.final_row.data(), named.final_row.size()};
    copy(named.final_row, batch_.final_row);
    return batch_;
  }

 private:
  static SampleForm OfRows(SampleForm form) {
    form.places = false;
    return form;
  }
  void Resolve(std::span<const float> names, std::span<float> rows) const {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto name = std::bit_cast<std::uint32_t>(names[i]);
      auto* const to = reinterpret_cast<std::byte*>(rows.data()) + i * row_bytes_;
      if (name == KeptRows::kZeros || (name - 1) * row_bytes_ >= rows_.size())
        std::memset(to, 0, row_bytes_);  // also what is behind the sample's last step
      else
        std::memcpy(to, &rows_[(name - 1) * row_bytes_], row_bytes_);
    }
  }

  const std::size_t row_bytes_;
  TrainingBatch batch_;
  std::vector<std::byte> rows_;
};

struct Play {
  int length = 8;  ///< T
  std::uint32_t agents = 5;
  int rounds = 1500;
  int width = 2;  ///< of an observation
  bool places = false;
};

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

/// The most steps that were kept in the second half.
std::uint64_t PlayAndCompare(const ReplaySettings& settings, const Play& play) {
  const TrajectoryLayout layout = PlayedLayout(play.length, play.width);
  TestReplay replay(settings, layout, play.places);
  Mirror mirror(replay.form, layout);
  Random random(settings.capacity);
  std::vector<PlayedAgent> agents;
  for (std::uint32_t i = 0; i < play.agents; ++i) agents.emplace_back(i, play.width);
  TrainingBatch batch(replay.batch_layout, 1);
  std::uint64_t samples = 0, kept = 0;
  for (int round = 0; round < play.rounds && !::testing::Test::HasFailure(); ++round) {
    PlayedAgent& agent = agents[random.UniformInt(play.agents)];
    Rest(&agent, &random);
    replay.Insert(agent.Play(RandomSteps(play.length, layout.max_finals, &random)).View());
    EXPECT_LE(replay.rows.size(), settings.capacity);
    if (round > play.rounds / 2) kept = std::max(kept, replay.rows.size());
    std::uint64_t closed = 0;
    for (std::uint64_t row = replay.rows.first_row(); row < replay.rows.end_row(); ++row) {
      const RowPlace place = replay.rows.PlaceOf(row);
      const Chunk& chunk = replay.rows.At(place.chunk);
      const std::size_t step = chunk.first_step + static_cast<std::size_t>(place.step);
      const PlayedAgent& of = agents[chunk.agent];
      EXPECT_EQ(replay.windows.IsClosed(row), IsClosed(of, step, replay.form))
          << "agent " << chunk.agent << " step " << step << " round " << round;
      closed += replay.windows.IsClosed(row);
      if (!replay.windows.IsClosed(row) || row % 7 != static_cast<unsigned>(round % 7)) continue;
      batch.Clear();
      replay.copy.Add(row, 0.75f, &batch);
      EXPECT_EQ(batch.trajectories[0].first_step, step);
      if (play.places) mirror.Update(&replay.places);
      ExpectSample(play.places ? mirror.Rows(batch) : batch, 0, of, replay.form, 0.75f);
      ++samples;
    }
    EXPECT_EQ(replay.windows.closed(), closed);
  }
  EXPECT_GT(samples, static_cast<std::uint64_t>(play.rounds));
  return kept;
}

TEST(RandomPlay, OneStepWindows) { PlayAndCompare({.capacity = 37, .window = 1}, {}); }
TEST(RandomPlay, WindowsOfThree) {
  EXPECT_GT(PlayAndCompare({.capacity = 61, .window = 3}, {}), 59u);
}
TEST(RandomPlay, WindowsLongerThanChunks) {
  PlayAndCompare({.capacity = 90, .window = 11}, {.length = 4});
}
TEST(RandomPlay, Sequences) { PlayAndCompare({.capacity = 120, .sequence = 16}, {}); }

TEST(RandomPlay, NamesOfRowsThatWereCopied) {
  PlayAndCompare({.capacity = 37, .window = 1}, {.places = true});
  PlayAndCompare({.capacity = 90, .window = 11}, {.length = 4, .places = true});
  PlayAndCompare({.capacity = 120, .sequence = 16}, {.places = true});
}

/// Rows of 400 KB: of 30 agents, 13 chains have room for the frames before them.
TEST(RandomPlay, OldChunksGoWhenThereIsNoRoomBesideTheRing) {
  EXPECT_LT(PlayAndCompare({.capacity = 80, .window = 2},
                           {.length = 4, .agents = 30, .rounds = 120, .width = 100'000}),
            60u);
}

}  // namespace
}  // namespace murmurate
