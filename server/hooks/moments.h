// The key `events` of a hook: which moments it is told of.
#pragma once

#include <string>
#include <vector>

#include "server/hooks/hook_settings.h"

namespace murmurate {

/// Those of the names; none stands for all. The status: one that is no moment.
Result<HookMoments> MomentsOf(const SectionView& keys, const std::vector<std::string>& names);

}  // namespace murmurate
