// A batch as a replay gives it, of random numbers: windows of up to T steps, some of which end in a
// termination or a truncation, each with a weight in its first row.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/batch_plan.h"
#include "shared/core/random.h"

namespace murmurate {

struct RandomWindows {
  /// Observations of `spec` are numbers. Every third window is terminated in its last row, every
  /// third truncated. `masked`: each mask leaves a choice of every variable.
  RandomWindows(const ModelSpec& spec, int windows, int length, bool masked = false)
      : batch(TrajectoryLayout(spec, length), windows), random(11) {
    for (int i = 0; i < windows; ++i) AddWindow(spec, i, std::max(1, length - i % 4), masked);
    std::ranges::fill(batch.weight, 0.0f);
    for (int i = 0; i < windows; ++i)
      batch.weight[static_cast<std::size_t>(i * length)] = 0.5f + 0.1f * static_cast<float>(i % 7);
    batch.samples = TrainingBatch::Samples::kReplayed;
    batch.learned = true;
  }

  float Number() { return 2.0f * random.Uniform() - 1.0f; }

  /// A random action; its choices are allowed by `mask`, of layout.mask_bytes().
  void AddAction(const ActionLayout& layout, std::span<const std::uint8_t> mask,
                 std::vector<std::int32_t>* action) {
    for (const ActionPart& part : layout.parts())
      for (int k = 0; k < part.count; ++k) {
        if (part.kind == ActionPart::Kind::kContinuous) {
          action->push_back(std::bit_cast<std::int32_t>(0.8f * Number()));
          continue;
        }
        const bool is_switch = part.choices.empty();
        const auto choices = static_cast<std::size_t>(is_switch ? 2 : part.choices[k]);
        std::size_t choice = random.UniformInt(choices);
        while (!is_switch && mask[choice] == 0) choice = random.UniformInt(choices);
        if (!is_switch) mask = mask.subspan(choices);
        action->push_back(static_cast<std::int32_t>(choice));
      }
  }

  void AddWindow(const ModelSpec& spec, int i, int steps, bool masked) {
    const ActionLayout layout(spec.spaces.action, spec.continuous);
    const auto width = batch.layout.row_words();
    std::vector<float> observation, reward, log_prob(static_cast<std::size_t>(steps), -0.5f), next,
        final;
    std::vector<std::int32_t> action;
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(steps), 0), mask;
    for (std::size_t k = 0; k < width * static_cast<std::size_t>(steps); ++k)
      observation.push_back(Number());
    for (std::size_t k = 0; k < width; ++k) next.push_back(Number());
    for (int step = 0; step < steps; ++step) {
      reward.push_back(Number());
      const std::size_t allowed = mask.size();
      for (int k = 0; k < layout.mask_bytes(); ++k)
        mask.push_back(k % 2 == 0 || random.UniformInt(2) == 1);
      AddAction(layout, std::span(mask).subspan(allowed), &action);
    }
    flags[0] = i % 2 == 0 ? kFirst : 0;
    if (i % 3 == 0) flags.back() |= kTerminatedFlag;
    if (i % 3 == 1) {
      flags.back() |= kTruncatedFlag;
      for (std::size_t k = 0; k < width; ++k) final.push_back(Number());
    }
    TrajectoryView view;
    view.agent = static_cast<std::uint32_t>(i);
    view.version = 1;
    view.steps = steps;
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    if (masked) view.mask = mask;
    view.final_observation = RowsOf(final);
    view.next_observation = RowsOf(next);
    EXPECT_TRUE(batch.Add(view));
  }

  /// What the return of `n` steps from a row is, by its definition: discounted rewards, gamma^k, the
  /// observation after it (null: the episode was terminated) and that one's row (-1: not of a batch).
  struct Return {
    double reward = 0, discount = 1;
    const std::byte* after = nullptr;
    std::int32_t row = -1;
  };
  Return ReturnFrom(std::int32_t row, int n, double gamma) const {
    Return found;
    const std::int32_t slot = row / batch.length;
    const std::int32_t end =
        slot * batch.length + batch.trajectories[static_cast<std::size_t>(slot)].steps;
    for (int k = 0; k < n && row < end; ++k, ++row) {
      const auto at = static_cast<std::size_t>(row);
      found.reward += found.discount * double{batch.reward[at]};
      found.discount *= gamma;
      if ((batch.flags[at] & kTerminatedFlag) != 0) return found;
      if ((batch.flags[at] & kTruncatedFlag) != 0) {
        const auto final = std::ranges::find(batch.final_row, row) - batch.final_row.begin();
        found.after = batch.FinalRow(static_cast<std::size_t>(final));
        return found;
      }
    }
    found.row = row < end ? row : -1;
    found.after = row < end ? batch.ObservationRow(static_cast<std::size_t>(row))
                            : batch.NextRow(static_cast<std::size_t>(slot));
    return found;
  }

  TrainingBatch batch;
  Random random;
};

}  // namespace murmurate
