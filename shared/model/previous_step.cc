#include "shared/model/previous_step.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "shared/core/check.h"
#include "shared/model/model_spec.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

using Kind = ActionPart::Kind;

constexpr char kAction[] = "previous_action", kReward[] = "previous_reward";

/// A category for each choice or switch, 0 being "none yet"; a number for each number.
Space PreviousOf(const ActionPart& part) {
  if (part.kind == Kind::kContinuous) return Box({part.count});
  std::vector<int> categories(static_cast<std::size_t>(part.count), 3);
  if (part.kind == Kind::kDiscrete)
    std::ranges::transform(part.choices, categories.begin(), [](int n) { return n + 1; });
  return MultiDiscrete(std::move(categories));
}

float NumberOf(const ActionPart& part, int i, float number) {
  if (part.low.empty()) return number;
  const std::size_t at = static_cast<std::size_t>(i);
  return ScaleOf(part.low[at], part.high[at]).ToSample(number);
}

}  // namespace

Space RowSpace(const Spaces& spaces, PreviousInputs previous) {
  if (!previous.any()) return spaces.observation;
  std::vector<std::pair<std::string, Space>> leaves;
  for (int i = 0; i < spaces.observation.leaf_count(); ++i)
    leaves.emplace_back(spaces.observation.leaf_name(i), spaces.observation.leaf(i));
  const ActionLayout action(spaces.action);
  for (const ActionPart& part : action.parts())
    if (previous.action)
      leaves.emplace_back(part.name.empty() ? kAction : kAction + ("." + part.name),
                          PreviousOf(part));
  if (previous.reward) leaves.emplace_back(kReward, Box({1}));
  return Dict(leaves);
}

Status CheckPrevious(const Space& observation, PreviousInputs previous) {
  for (int i = 0; i < observation.leaf_count(); ++i) {
    const std::string name = observation.leaf_name(i);
    if ((previous.action && name == kAction) || (previous.reward && name == kReward))
      return InvalidArgument("the observation has a part " + Quote(name) +
                             " of its own: take the model's setting of that name out, or rename "
                             "the part");
  }
  return {};
}

float ReducedReward(float reward) {
  return static_cast<float>(std::copysign(std::sqrt(std::abs(double{reward}) + 1.0) - 1.0, reward));
}

PreviousStepRow::PreviousStepRow(const ModelSpec& spec)
    : previous_(spec.previous), action_(spec.spaces.action) {
  const ObservationLayout row(spec.row_space()), game(spec.spaces.observation);
  row_bytes_ = row.row_bytes();
  bytes_ = row_bytes_ - game.row_bytes();
  std::size_t next = game.inputs().size();
  if (!any()) return;
  first_ = row.inputs()[next].offset_bytes;
  if (previous_.action)
    for (std::size_t i = 0; i < action_.parts().size(); ++i)
      action_offsets_.push_back(row.inputs()[next++].offset_bytes);
  if (previous_.reward) reward_offset_ = row.inputs()[next].offset_bytes;
}

void PreviousStepRow::Write(std::span<const std::byte> observation, const std::int32_t* action,
                            float reward, std::byte* row) const {
  MURMURATE_CHECK(observation.size() + bytes_ == row_bytes_, "a row of the game's layout");
  std::memcpy(row, observation.data(), first_);
  std::memset(row + first_, 0, bytes_);
  std::memcpy(row + first_ + bytes_, observation.data() + first_, observation.size() - first_);
  if (action == nullptr) return;
  if (previous_.action) WriteAction(action, row);
  if (!previous_.reward) return;
  const float reduced = ReducedReward(reward);
  std::memcpy(row + reward_offset_, &reduced, sizeof reduced);
}

void PreviousStepRow::WriteAction(const std::int32_t* action, std::byte* row) const {
  for (std::size_t p = 0; p < action_offsets_.size(); ++p) {
    const ActionPart& part = action_.parts()[p];
    for (int i = 0; i < part.count; ++i) {
      const std::int32_t word = action[part.first_word + i];
      const std::int32_t written =
          part.kind == Kind::kContinuous
              ? std::bit_cast<std::int32_t>(NumberOf(part, i, std::bit_cast<float>(word)))
              : word + 1;
      std::memcpy(row + action_offsets_[p] + 4 * static_cast<std::size_t>(i), &written,
                  sizeof written);
    }
  }
}

}  // namespace murmurate
