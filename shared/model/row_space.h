// The rows that are recorded and learned from: what the game shows, behind it what the agent did
// last and got for it (previous_step.h), and last what only the learner's value network sees
// (Spaces::privileged):
//
//   the parts of the observation   one without parts becomes the part without a name
//   previous_action[.NAME], previous_reward
//   privileged[.NAME]
//
// So a network that does not read the privileged parts reads the first inputs of a row, and of the
// statistics of normalize_observation the first numbers.
#pragma once

#include <string_view>

#include "murmurate/spaces.h"
#include "shared/model/previous_step.h"

namespace murmurate {

/// The observation itself where nothing stands behind it.
Space RowSpace(const Spaces& spaces, PreviousInputs previous);
/// Checks: no part of the observation has the name of one that stands behind it.
Status CheckRowSpace(const Spaces& spaces, PreviousInputs previous);
/// Whether a part of a RowSpace is one of the privileged ones; of spaces that have such.
bool IsPrivileged(std::string_view part);

}  // namespace murmurate
