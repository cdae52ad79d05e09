// [algorithm], [optimizer] and [replay]: what a config says of how a model learns. What it says of how
// batches come together is in server/ingest/ingest_settings.h.
#pragma once

#include "server/learn/algorithm_settings.h"
#include "server/schema/settings_keys.h"

namespace murmurate {

inline constexpr EnumName<StalenessPolicy> kStalenessNames[] = {
    {StalenessPolicy::kVtrace, "vtrace"},
    {StalenessPolicy::kDrop, "drop"},
    {StalenessPolicy::kBlock, "block"}};
constexpr std::span<const EnumName<StalenessPolicy>> NamesOf(StalenessPolicy) {
  return kStalenessNames;
}

inline constexpr EnumName<ActSettings::Noise> kNoiseNames[] = {
    {ActSettings::Noise::kWhite, "white"}, {ActSettings::Noise::kPink, "pink"}};
constexpr std::span<const EnumName<ActSettings::Noise>> NamesOf(ActSettings::Noise) {
  return kNoiseNames;
}

inline constexpr EnumName<RowMemory> kRowMemoryNames[] = {{RowMemory::kHost, "host"},
                                                          {RowMemory::kDevice, "device"}};
constexpr std::span<const EnumName<RowMemory>> NamesOf(RowMemory) { return kRowMemoryNames; }

/// A number, or a schedule; of one without steps `over_the_budget` is set and `steps` 0.
template <>
struct ConfigType<Schedule> {
  static constexpr ValueKind kKind = ValueKind::kSchedule;
  static ConfigValue To(const Schedule& schedule) { return schedule.from; }
  static Schedule From(const ConfigValue& value);
};

const Keys<AlgorithmSettings>& AlgorithmKeys();
const Keys<AlgorithmSettings>& OptimizerKeys();
const Keys<AlgorithmSettings>& ReplayKeys();

}  // namespace murmurate
