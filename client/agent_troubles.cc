#include "client/agent_troubles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "client/client_model.h"

namespace murmurate {
namespace {

constexpr const char* kCost = "; trajectories with such steps are dropped and counted";

std::uint32_t WordAt(const std::byte* row, std::size_t offset) {
  std::uint32_t word;
  std::memcpy(&word, row + offset, sizeof word);
  return word;
}

bool IsGood(const ObservationInput& input, int place, std::uint32_t word) {
  if (input.element == ObservationInput::Element::kFloat32) {
    return std::isfinite(std::bit_cast<float>(word));
  }
  const auto category = static_cast<std::int32_t>(word);
  return category >= 0 && category < input.categories[static_cast<std::size_t>(place)];
}

/// A row that is wrong in that place alone.
std::string ObservationWords(const AgentTroubles::Detail& detail, const ObservationLayout& layout) {
  std::vector<std::byte> row(layout.row_bytes());
  std::memcpy(row.data() + detail.offset, &detail.word, sizeof detail.word);
  return layout.Check(row.data()).message() + kCost;
}

std::string PrivilegedWords(const AgentTroubles::Detail& detail, const ClientModel& model) {
  if (!model.privileged) return "";
  return "in the privileged observation: " + ObservationWords(detail, *model.privileged);
}

std::string MaskWords(const AgentTroubles::Detail& detail, const ActionLayout& layout) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(layout.mask_bytes()), 1);
  std::fill_n(mask.begin() + detail.offset, detail.word, std::uint8_t{0});
  return layout.CheckMask(mask.data()).message() + kCost;
}

std::string RewardWords(double rewards) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", rewards);
  return "the rewards of a step come to " + std::string(text) +
         ", which is not a finite float32: give Reward smaller numbers (look for a division by "
         "zero or a logarithm of it)" +
         kCost;
}

}  // namespace

void AgentTroubles::Note(Trouble kind, const Detail& detail) {
  if ((written_ & Bit(kind)) == 0) details_[static_cast<std::size_t>(kind)] = detail;
  written_ |= Bit(kind);
  const std::uint8_t before = noted_.load(std::memory_order_relaxed);
  noted_.store(static_cast<std::uint8_t>(before | Bit(kind)), std::memory_order_release);
}

std::optional<Trouble> AgentTroubles::PopNew() {
  const std::uint8_t noted = noted_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kKinds; ++i) {
    const Trouble kind = static_cast<Trouble>(i);
    if ((noted & Bit(kind)) == 0) continue;
    if ((taken_.fetch_or(Bit(kind), std::memory_order_acq_rel) & Bit(kind)) == 0) return kind;
  }
  return std::nullopt;
}

std::string AgentTroubles::WordsFor(Trouble kind, const ClientModel& model) const {
  const Detail& detail = details_[static_cast<std::size_t>(kind)];
  switch (kind) {
    case Trouble::kObservation:
      return ObservationWords(detail, model.observation);
    case Trouble::kPrivileged:
      return PrivilegedWords(detail, model);
    case Trouble::kMask:
      return MaskWords(detail, model.head.layout());
    case Trouble::kReward:
      return RewardWords(detail.value);
    case Trouble::kOutputs:
      return std::string(
                 "the policy's outputs are not finite: the game shows numbers too large for its "
                 "model (use normalize_observation, or smaller ones)") +
             kCost;
    case Trouble::kNoEnd:
      return "no episode has ended in its first " + std::to_string(kStepsWithoutEnd) +
             " steps: call End when an episode is over (terminated, or truncated by a time "
             "limit), or the learner sees no return; a game that has no episodes may ignore this";
  }
  return "";
}

AgentTroubles::Detail AgentTroubles::FindIn(const ObservationLayout& layout, const std::byte* row) {
  for (const ObservationInput& input : layout.inputs()) {
    if (input.element == ObservationInput::Element::kUint8) continue;
    for (int i = 0; i < input.elements; ++i) {
      const std::size_t offset = input.offset_bytes + sizeof(float) * static_cast<std::size_t>(i);
      const std::uint32_t word = WordAt(row, offset);
      if (!IsGood(input, i, word)) return {static_cast<std::uint32_t>(offset), word, 0.0};
    }
  }
  return {};
}

AgentTroubles::Detail AgentTroubles::FindIn(const ActionLayout& layout, const std::uint8_t* mask) {
  for (const ActionPart& part : layout.parts()) {
    if (part.kind != ActionPart::Kind::kDiscrete) continue;
    int first = part.first_mask_byte;
    for (int i = 0; i < part.count; first += part.choices[i++]) {
      const std::uint8_t* allowed = mask + first;
      if (std::any_of(allowed, allowed + part.choices[i], [](std::uint8_t a) { return a != 0; })) {
        continue;
      }
      return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(part.choices[i]), 0.0};
    }
  }
  return {};
}

}  // namespace murmurate
