#include "shared/model/row_writer.h"

#include <bit>
#include <cstring>

#include "shared/core/check.h"
#include "shared/model/model_spec.h"

namespace murmurate {
namespace {

float NumberOf(const ActionPart& part, int i, float number) {
  if (part.low.empty()) return number;
  const std::size_t at = static_cast<std::size_t>(i);
  return ScaleOf(part.low[at], part.high[at]).ToSample(number);
}

}  // namespace

/// Inputs that lie behind each other in both layouts are one piece.
void RowWriter::Add(const ObservationInput& from, const ObservationInput& to,
                    std::vector<Piece>* pieces) {
  if (!pieces->empty()) {
    Piece& last = pieces->back();
    if (last.from + last.bytes == from.offset_bytes && last.to + last.bytes == to.offset_bytes) {
      last.bytes += from.size_bytes();
      return;
    }
  }
  pieces->push_back({from.offset_bytes, to.offset_bytes, from.size_bytes()});
}

RowWriter::RowWriter(const ModelSpec& spec)
    : previous_(spec.previous), action_(spec.spaces.action) {
  const ObservationLayout row(spec.row_space()), game(spec.spaces.observation);
  row_bytes_ = row.row_bytes();
  game_bytes_ = game.row_bytes();
  std::size_t next = 0;
  for (const ObservationInput& input : game.inputs())
    Add(input, row.inputs()[next++], &observation_);
  if (previous_.action)
    for (std::size_t i = 0; i < action_.parts().size(); ++i)
      action_offsets_.push_back(row.inputs()[next++].offset_bytes);
  if (previous_.reward) reward_offset_ = row.inputs()[next++].offset_bytes;
  if (spec.spaces.privileged.kind == Space::Kind::kNone) return;
  const ObservationLayout privileged(spec.spaces.privileged);
  for (const ObservationInput& input : privileged.inputs())
    Add(input, row.inputs()[next++], &privileged_);
}

void RowWriter::Copy(const std::vector<Piece>& pieces, std::span<const std::byte> from,
                     std::byte* row) {
  for (const Piece& piece : pieces)
    std::memcpy(row + piece.to, from.data() + piece.from, piece.bytes);
}

void RowWriter::Write(const Step& step, std::byte* row) const {
  MURMURATE_CHECK(step.observation.size() == game_bytes_, "a row of the game's layout");
  std::memset(row, 0, row_bytes_);
  Copy(observation_, step.observation, row);
  if (!step.privileged.empty()) Copy(privileged_, step.privileged, row);
  if (step.action == nullptr) return;
  if (previous_.action) WriteAction(step.action, row);
  if (!previous_.reward) return;
  const float reduced = ReducedReward(step.reward);
  std::memcpy(row + reward_offset_, &reduced, sizeof reduced);
}

void RowWriter::WriteAction(const std::int32_t* action, std::byte* row) const {
  for (std::size_t p = 0; p < action_offsets_.size(); ++p) {
    const ActionPart& part = action_.parts()[p];
    for (int i = 0; i < part.count; ++i) {
      const std::int32_t word = action[part.first_word + i];
      const std::int32_t written =
          part.kind == ActionPart::Kind::kContinuous
              ? std::bit_cast<std::int32_t>(NumberOf(part, i, std::bit_cast<float>(word)))
              : word + 1;
      std::memcpy(row + action_offsets_[p] + 4 * static_cast<std::size_t>(i), &written,
                  sizeof written);
    }
  }
}

}  // namespace murmurate
