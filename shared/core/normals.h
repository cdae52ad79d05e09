// Many normals at once.
#pragma once

#include <span>

#include "shared/core/random.h"
#include "shared/core/thread_team.h"

namespace murmurate {

/// What as many calls of Random::Normal give, in their order. The threads of `team` share the work;
/// their number changes nothing.
void FillNormals(std::span<double> into, Random& random, ThreadTeam& team);

}  // namespace murmurate
