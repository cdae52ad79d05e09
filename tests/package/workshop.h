// A place to build programs of others in, and to let them play.
#pragma once

#include <string>

#include "tests/server/process.h"

namespace murmurate {

/// Runs `command` with sh in the folder of `place`.
Ran Shell(const Workplace& place, const std::string& command, double seconds = 60);

/// Installs everything that was built into PREFIX of `place`; gives that path.
std::string Install(const Workplace& place);

/// Starts `learner` (a murmurate) and `game ADDRESS` in `place`: the learner is to train on 1024
/// steps of that game at least, and the game to outlive it.
void ExpectThatItLearns(const Workplace& place, const std::string& learner,
                        const std::string& game);

}  // namespace murmurate
