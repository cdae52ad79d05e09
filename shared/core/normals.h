// Draws many normally distributed numbers on several threads.
#pragma once

#include <span>

#include "shared/core/random.h"
#include "shared/core/thread_team.h"

namespace murmurate {

/// Writes the numbers that into.size() calls of Random::Normal give, in their order. The threads of
/// `team` share the work; the numbers do not depend on how many threads there are.
void FillNormals(std::span<double> into, Random& random, ThreadTeam& team);

}  // namespace murmurate
