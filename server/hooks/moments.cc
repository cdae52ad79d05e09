#include "server/hooks/moments.h"

namespace murmurate {

Result<HookMoments> MomentsOf(const SectionView& keys, const std::vector<std::string>& names) {
  HookMoments moments = 0;
  std::string known;
  for (const auto& moment : kHookMomentNames) {
    if (names.empty()) moments |= Bit(moment.value);
    known += (known.empty() ? "" : ", ") + std::string(moment.text);
  }
  for (const std::string& name : names) {
    const auto moment = Named<HookMoment>(name);
    if (!moment) return keys.Refuse("events", "some of " + known);
    moments |= Bit(*moment);
  }
  return moments;
}

}  // namespace murmurate
