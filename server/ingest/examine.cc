#include "server/ingest/examine.h"

#include <cstdint>
#include <cstring>

namespace murmurate {
std::span<const std::byte> Aligned(std::span<const std::byte> block, AlignedFloats* storage) {
  if (reinterpret_cast<std::uintptr_t>(block.data()) % alignof(EpisodeRecord) == 0) return block;
  const std::size_t floats = (block.size() + sizeof(float) - 1) / sizeof(float);
  if (storage->size() < floats) *storage = AlignedFloats(floats);
  std::memcpy(storage->data(), block.data(), block.size());
  return std::as_bytes(std::span<const float>(*storage)).first(block.size());
}

bool IsOfThisLife(const wire::Decoded& decoded, std::uint64_t incarnation) {
  const std::uint64_t played = std::get<wire::Experience>(decoded.body).incarnation;
  return played == incarnation || played == 0;
}

namespace {

wire::Refusal Why(const TrajectoryView& view, const TrajectoryLayout& layout) {
  return HoldsFiniteNumbers(view, layout) ? wire::Refusal::kMeaning : wire::Refusal::kNotFinite;
}

}  // namespace

BlockRefusal Examine(const wire::Decoded& decoded, std::span<const std::byte> block,
                     std::uint64_t incarnation, const ExperienceChannel& channel,
                     TrajectoryView* view) {
  const auto& metadata = std::get<wire::Experience>(decoded.body);
  const std::uint64_t newest = channel.version.load(std::memory_order_acquire);
  const std::uint64_t last = metadata.version + metadata.changes.later();
  const bool too_large = last < metadata.version;  // the sum overflows
  // One ahead: a version is handed out a moment before it is counted here.
  if (too_large || (IsOfThisLife(decoded, incarnation) && last > newest + 1)) {
    return {wire::Refusal::kMeaning, "version: expected at most " + std::to_string(newest) +
                                         ", the newest published, got " +
                                         std::to_string(too_large ? metadata.version : last)};
  }
  Status status = wire::ViewTrajectory(metadata, block, channel.layout, view);
  if (!status.ok()) return {wire::Refusal::kMeaning, status.message()};
  status = CheckAllButObservations(*view, channel.layout);
  if (status.ok()) return {};
  return {Why(*view, channel.layout), status.message()};
}

BlockRefusal ExamineObservations(const TrajectoryView& view, const ExperienceChannel& channel) {
  const Status status = CheckObservations(view, channel.layout);
  if (status.ok()) return {};
  return {Why(view, channel.layout), status.message()};
}

}  // namespace murmurate
