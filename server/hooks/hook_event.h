// HookEvent: something that happened in a run, as hooks are told of it.
//
// For each batch of a model they come in this order: kBeforeBatch, kNewVersion, a kEpisode for each
// episode that ended in it, kAfterBatch. A kCheckpoint comes when the checkpoint has been tried,
// which is later than the batch that it was made after. kEnd is the last of all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "server/metrics/reading.h"
#include "shared/core/enum_names.h"

namespace murmurate {

enum class HookMoment : std::uint8_t {
  kBeforeBatch,
  kAfterBatch,
  kNewVersion,  ///< new weights were handed out
  kCheckpoint,  ///< one was written, or could not be
  kEpisode,     ///< of training
  kEnd,         ///< nothing is learned any more, and the last checkpoint was tried
};

inline constexpr EnumName<HookMoment> kHookMomentNames[] = {
    {HookMoment::kBeforeBatch, "before_batch"}, {HookMoment::kAfterBatch, "after_batch"},
    {HookMoment::kNewVersion, "version"},       {HookMoment::kCheckpoint, "checkpoint"},
    {HookMoment::kEpisode, "episode"},          {HookMoment::kEnd, "end"}};
constexpr std::span<const EnumName<HookMoment>> NamesOf(HookMoment) { return kHookMomentNames; }

/// A set of moments, a bit each.
using HookMoments = std::uint32_t;
constexpr HookMoments Bit(HookMoment moment) { return 1u << static_cast<unsigned>(moment); }

struct HookEpisode {
  double raw_return = 0;
  std::uint32_t length = 0;          ///< steps
  std::optional<bool> success = {};  ///< nothing: the game did not say
};

struct HookEvent {
  HookMoment moment = HookMoment::kAfterBatch;
  std::string model = {};               ///< of kEnd: the run's first one
  std::int64_t at_ns = 0;               ///< monotonic
  std::uint64_t steps = 0;              ///< learned from, by the run in all its lives
  std::uint64_t environment_steps = 0;  ///< that actors took
  std::uint64_t version = 0;
  Reading reading = Reading();  ///< of kAfterBatch and kEnd: the newest values
  bool finite = true;           ///< of kAfterBatch: its losses and gradients were
  HookEpisode episode = {};
  std::string text = {};  ///< of kCheckpoint: its folder; of kEnd: why the run ends
  bool good = true;       ///< of kCheckpoint: it is on the disk and verified
};

}  // namespace murmurate
