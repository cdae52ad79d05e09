// Examine: whether a received block is a trajectory of its model: the last checks before it is
// copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "server/experience/experience_channel.h"
#include "shared/core/aligned_floats.h"
#include "shared/wire/messages.h"

namespace murmurate {

/// Why a block is not taken.
struct BlockRefusal {
  wire::Refusal refusal = wire::Refusal::kNone;
  std::string sentence;
};

/// `block` itself, or a copy in `storage` where its numbers lie on their borders (small ZeroMQ
/// payloads start anywhere).
std::span<const std::byte> Aligned(std::span<const std::byte> block, AlignedFloats* storage);

/// Whether it was played under this `incarnation`'s weights, or none, so its version is of
/// their count.
bool IsOfThisLife(const wire::Decoded& decoded, std::uint64_t incarnation);

/// Version, columns and their meaning, cheapest check first; all but the
/// observations, which Assembly::TryAdd checks as it copies them. `view` points into `block`.
/// Versions of another `incarnation` than this learner's are what its earlier life made of them.
BlockRefusal Examine(const wire::Decoded& decoded, std::span<const std::byte> block,
                     std::uint64_t incarnation, const ExperienceChannel& channel,
                     TrajectoryView* view);
BlockRefusal ExamineObservations(const TrajectoryView& view, const ExperienceChannel& channel);

inline bool WasEvaluated(const EpisodeRecord& episode) { return episode.mode != 0; }

/// Whose reports a block has: agents hand over those of evaluation by themselves.
inline bool IsOfEvaluation(const TrajectoryView& view) {
  return view.steps == 0 && !view.episodes.empty() &&
         std::ranges::all_of(view.episodes, WasEvaluated);
}

}  // namespace murmurate
