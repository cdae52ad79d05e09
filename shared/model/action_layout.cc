#include "shared/model/action_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "shared/core/check.h"
#include "shared/model/spaces_text.h"

namespace murmurate {
namespace {

using Kind = ActionPart::Kind;

ActionPart MakePart(const std::string& name, const Space& leaf,
                    const ContinuousSettings& settings) {
  ActionPart part;
  part.name = name;
  part.count = leaf.element_count();
  part.outputs = part.count;
  if (leaf.kind == Space::Kind::kBox) {
    part.kind = Kind::kContinuous;
    part.shape = leaf.shape;
    part.low = leaf.low;
    part.high = leaf.high;
    if (settings.deterministic) part.furthest = 1.0f;
    for (std::size_t i = 0; i < leaf.low.size(); ++i) {
      if (settings.deterministic) part.scales.push_back(BoxScaleOf(leaf.low[i], leaf.high[i]));
      if (settings.scaled) part.scales.push_back(ScaleOf(leaf.low[i], leaf.high[i]));
    }
  } else if (leaf.kind == Space::Kind::kMultiBinary) {
    part.kind = Kind::kBinary;
  } else {
    part.choices = leaf.kind == Space::Kind::kDiscrete ? std::vector<int>{leaf.n} : leaf.choices;
    part.outputs = 0;
    for (const int n : part.choices) part.outputs += n;
  }
  return part;
}

Status Wrong(const ActionPart& part, int i, const std::string& what) {
  return InvalidData(LeafPath(Side::kAction, part.name) + " has " + what + " at place " +
                     std::to_string(i) + ": correct the game");
}

/// `mask`: null, or that of this part.
Status CheckChoices(const ActionPart& part, const std::int32_t* words, const std::uint8_t* mask) {
  for (int i = 0, first = 0; i < part.count; first += part.choices[i++]) {
    if (words[i] < 0 || words[i] >= part.choices[i]) {
      return Wrong(part, i,
                   "the choice " + std::to_string(words[i]) + " where 0 to " +
                       std::to_string(part.choices[i] - 1) + " was expected");
    }
    if (mask != nullptr && mask[first + words[i]] == 0) {
      return Wrong(part, i, "the choice " + std::to_string(words[i]) + ", which its mask forbids,");
    }
  }
  return Status();
}

Status CheckPart(const ActionPart& part, const std::int32_t* words, const std::uint8_t* mask) {
  if (part.kind == Kind::kDiscrete) {
    return CheckChoices(part, words, mask == nullptr ? nullptr : mask + part.first_mask_byte);
  }
  for (int i = 0; i < part.count; ++i) {
    if (part.kind == Kind::kBinary && words[i] != 0 && words[i] != 1) {
      return Wrong(part, i,
                   "the switch " + std::to_string(words[i]) + " where 0 or 1 was expected");
    }
    if (part.kind == Kind::kContinuous &&
        !(std::abs(std::bit_cast<float>(words[i])) <= part.furthest)) {
      return Wrong(
          part, i,
          part.furthest == 1.0f ? "a number outside -1 to 1" : "a number that is not finite");
    }
  }
  return Status();
}

}  // namespace

ActionLayout::ActionLayout(const Space& action, const ContinuousSettings& settings)
    : settings_(settings) {
  for (int i = 0; i < action.leaf_count(); ++i) {
    ActionPart part = MakePart(action.leaf_name(i), action.leaf(i), settings);
    part.first_word = words_;
    part.first_output = outputs_;
    part.first_mask_byte = mask_bytes_;
    if (part.kind == Kind::kDiscrete) mask_bytes_ += part.outputs;
    if (part.kind == Kind::kContinuous && settings.state_dependent_deviation) {
      part.outputs += part.count;
    } else if (part.kind == Kind::kContinuous && !settings.deterministic) {
      part.first_deviation = free_deviations_;
      free_deviations_ += part.count;
    }
    words_ += part.count;
    outputs_ += part.outputs;
    parts_.push_back(std::move(part));
  }
}

bool ActionLayout::has_numbers() const {
  return std::ranges::count(parts_, Kind::kContinuous, &ActionPart::kind) > 0;
}

int ActionLayout::encoded_count() const {
  int count = 0;
  for (const ActionPart& part : parts_) {
    if (part.kind != ActionPart::Kind::kDiscrete) count += part.count;
    for (const int choices : part.choices) count += choices;
  }
  return count;
}

Status ActionLayout::CheckAction(const std::int32_t* words, const std::uint8_t* mask) const {
  for (const ActionPart& part : parts_) {
    MURMURATE_RETURN_IF_ERROR(CheckPart(part, words + part.first_word, mask));
  }
  return Status();
}

bool ActionLayout::AllowsSomething(const std::uint8_t* mask) const {
  for (const ActionPart& part : parts_) {
    if (part.kind != Kind::kDiscrete) continue;
    const std::uint8_t* allowed = mask + part.first_mask_byte;
    for (const int n : part.choices) {
      if (std::all_of(allowed, allowed + n, [](std::uint8_t a) { return a == 0; })) return false;
      allowed += n;
    }
  }
  return true;
}

Status ActionLayout::CheckMask(const std::uint8_t* mask) const {
  for (const ActionPart& part : parts_) {
    if (part.kind != Kind::kDiscrete) continue;
    const std::uint8_t* allowed = mask + part.first_mask_byte;
    for (int i = 0; i < part.count; allowed += part.choices[i++]) {
      const bool any =
          std::any_of(allowed, allowed + part.choices[i], [](std::uint8_t a) { return a != 0; });
      if (!any) return Wrong(part, i, "a mask that forbids every choice");
    }
  }
  return Status();
}

ActionScale BoxScaleOf(float low, float high) {
  const float half = static_cast<float>(0.5 * (double{high} - low));
  if (half == 0.0f) return {};
  return {0.5 * (double{low} + high), half};
}

ActionScale ScaleOf(float low, float high) {
  return double{high} - low > kWidestScaledBox ? ActionScale() : BoxScaleOf(low, high);
}

bool ScalesActions(const Space& action) {
  for (int i = 0; i < action.leaf_count(); ++i) {
    const Space& leaf = action.leaf(i);
    for (std::size_t j = 0; leaf.kind == Space::Kind::kBox && j < leaf.low.size(); ++j)
      if (ScaleOf(leaf.low[j], leaf.high[j]) != ActionScale{}) return true;
  }
  return false;
}

Status CheckContinuous(const Space& action, const ContinuousSettings& settings) {
  if (settings.scaled && (settings.squashed || !ScalesActions(action))) {
    return InvalidArgument(
        "the model has the line \"scale box\", but its actions are squashed or have no box to be "
        "scaled to: take the line out");
  }
  if (settings.deterministic && (settings.scaled || settings.state_dependent_deviation)) {
    return InvalidArgument(
        "the model's policy is deterministic, so it has no deviations and its actions fill their "
        "boxes: take out the line \"scale box\" and write \"state_dependent_deviation 0\"");
  }
  if (!settings.squashed && !settings.deterministic) return Status();
  for (int i = 0; i < action.leaf_count(); ++i) {
    const Space& leaf = action.leaf(i);
    if (leaf.kind != Space::Kind::kBox || !leaf.low.empty()) continue;
    return InvalidArgument("the space " + LeafPath(Side::kAction, action.leaf_name(i)) +
                           (settings.deterministic
                                ? " has no bounds but a deterministic policy fills them: use "
                                  "Box(shape, low, high)"
                                : " has no bounds but the model squashes its actions into them: "
                                  "use Box(shape, low, high) or a model without squashing"));
  }
  return Status();
}

}  // namespace murmurate
