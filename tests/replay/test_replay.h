// TestReplay: kept steps and the copy of samples, without a store around them; and what a sample
// has to be, told from the agents' lives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "server/replay/kept_steps.h"
#include "server/replay/window_copy.h"
#include "tests/replay/played_agent.h"

namespace murmurate {

class TestReplay {
 public:
  TestReplay(const ReplaySettings& settings, const TrajectoryLayout& layout, bool named = false)
      : form(settings, named),
        block_(KeptSteps::BytesFor(settings, layout)),
        kept_(settings, layout, 1, BlockCursor(block_.bytes()), named),
        rows(kept_.rows()),
        places(kept_.places()),
        windows(kept_.windows()),
        sampler(kept_.sampler()),
        copy(form, layout, &kept_.rows()),
        batch_layout(WindowCopy::BatchLayout(form, layout)) {}

  /// The rows that this closes, in order.
  std::vector<std::uint64_t> Insert(const TrajectoryView& view) {
    const std::set<std::uint64_t> before = Closed();
    kept_.Keep(view);
    std::vector<std::uint64_t> closed;
    std::ranges::set_difference(Closed(), before, std::back_inserter(closed));
    return closed;
  }
  std::set<std::uint64_t> Closed() const {
    std::set<std::uint64_t> closed;
    for (std::uint64_t row = rows.first_row(); row < rows.end_row(); ++row)
      if (windows.IsClosed(row)) closed.insert(closed.end(), row);
    return closed;
  }
  /// A batch of the sample at a row.
  TrainingBatch Sample(std::uint64_t row, float weight = 1.0f) {
    TrainingBatch batch(batch_layout, 1);
    copy.Add(row, weight, &batch);
    return batch;
  }

  const SampleForm form;

 private:
  MappedBlock block_;
  KeptSteps kept_;

 public:
  const ReplayRows& rows;
  ObservationPlaces& places;
  const ClosedWindows& windows;
  Sampler& sampler;
  WindowCopy copy;
  const TrajectoryLayout batch_layout;
};

/// Whether two steps of a life are neighbours in a replay.
inline bool Joined(const PlayedAgent& agent, std::size_t step) {
  return step + 1 < agent.life().size() && agent.life()[step].chain == agent.life()[step + 1].chain;
}

/// k: the steps of the sample at a step, of what has been played so far, with so many truncations
/// at most.
inline int LengthAt(const PlayedAgent& agent, std::size_t step, const SampleForm& form,
                    int finals = 1'000'000) {
  int steps = 0;
  for (bool goes_on = true; goes_on && steps < form.length; ++step) {
    const std::uint8_t flags = agent.life()[step].flags;
    if ((flags & kTruncatedFlag) != 0 && finals-- == 0) break;
    ++steps;
    goes_on = (form.sequence || (flags & PlayedAgent::kEnd) == 0) && Joined(agent, step);
  }
  return steps;
}

/// Whether the sample at a step will never have more steps than it has now.
inline bool IsClosed(const PlayedAgent& agent, std::size_t step, const SampleForm& form) {
  if (form.sequence && !agent.life()[step].begins_chunk) return false;
  const std::size_t last = step + static_cast<std::size_t>(LengthAt(agent, step, form)) - 1;
  const bool ended = !form.sequence && (agent.life()[last].flags & PlayedAgent::kEnd) != 0;
  return LengthAt(agent, step, form) == form.length || ended || last + 1 < agent.life().size();
}

inline void ExpectRow(const std::byte* row, float seen) {
  const std::span<const float> numbers(reinterpret_cast<const float*>(row), 2);
  EXPECT_EQ(numbers[0], seen);
  EXPECT_EQ(numbers[1], -seen);
}

/// A window has the state that its first step was played with, if it begins a chunk; a sequence that
/// of each step where a chunk can begin, if one does.
inline void ExpectStates(const TrainingBatch& batch, int slot, const PlayedAgent& agent) {
  const BatchTrajectory& sample = batch.trajectories[slot];
  const int states = batch.layout.state_floats / 2;
  const float* const found = batch.state0.data() + slot * batch.layout.state_floats;
  for (int i = 0; i < states; ++i) {
    const int at = i * (batch.length / states);
    const std::size_t step = sample.first_step + static_cast<std::size_t>(at);
    const bool stored = at < sample.steps && agent.life()[step].begins_chunk;
    EXPECT_EQ(found[2 * i], stored ? PlayedAgent::StateAt(step) : 0.0f) << "at step " << step;
  }
}

/// Every column of a slot is what the agent lived.
inline void ExpectSample(const TrainingBatch& batch, int slot, const PlayedAgent& agent,
                         const SampleForm& form, float weight) {
  const BatchTrajectory& sample = batch.trajectories[slot];
  const std::size_t first = sample.first_step,
                    begin = static_cast<std::size_t>(slot) * batch.length;
  ASSERT_EQ(sample.steps, LengthAt(agent, first, form, batch.layout.max_finals))
      << "from step " << first;
  const auto& life = agent.life();
  for (int i = 0; i < batch.length; ++i) {
    SCOPED_TRACE("agent " + std::to_string(agent.agent()) + " step " + std::to_string(first) +
                 " + " + std::to_string(i));
    const std::size_t row = begin + static_cast<std::size_t>(i), step = first + i;
    const bool weighs = i < sample.steps && (form.sequence || i == 0);
    EXPECT_EQ(batch.weight[row], weighs ? weight : 0.0f);
    if (i >= sample.steps) {
      EXPECT_EQ(batch.flags[row], 0);
      continue;
    }
    ExpectRow(batch.ObservationRow(row), life[step].seen);
    EXPECT_EQ(batch.action[row], static_cast<int>(step % 2));
    EXPECT_EQ(batch.log_prob[row], -0.001f * static_cast<float>(step));
    EXPECT_EQ(batch.reward[row], life[step].reward);
    EXPECT_EQ(batch.flags[row], life[step].flags);
    EXPECT_EQ(batch.mask[2 * row + 1], PlayedAgent::MaskAt(step));
    std::vector<const std::byte*> history(4);
    batch.History(static_cast<int>(row), history);
    for (int age = 0; age < 4; ++age) {
      const float seen = agent.Before(step, age);
      if (history[age] == nullptr)
        EXPECT_EQ(seen, 0.0f);
      else
        ExpectRow(history[age], seen);
    }
    const auto final = std::ranges::find(batch.final_row, static_cast<int>(row));
    ASSERT_EQ(final != batch.final_row.end(), (life[step].flags & kTruncatedFlag) != 0);
    if (final != batch.final_row.end())
      ExpectRow(batch.FinalRow(final - batch.final_row.begin()), life[step].final);
  }
  const std::size_t last = first + static_cast<std::size_t>(sample.steps) - 1;
  const bool ended = (life[last].flags & PlayedAgent::kEnd) != 0;
  ExpectRow(batch.NextRow(slot), ended ? 0.0f : agent.SeenAt(last + 1));
  ExpectStates(batch, slot, agent);
}

}  // namespace murmurate
