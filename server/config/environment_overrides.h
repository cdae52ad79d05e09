// Settings from environment variables: MURMURATE_RUN__SEED=5 is what --set run.seed=5 is, and
// MURMURATE_MODEL__NPC__ALGORITHM__EPOCHS=4 what --set model.npc.algorithm.epochs=4 is. A variable
// with a double underscore after the prefix is a setting; other MURMURATE_ variables (KERNELS,
// LIBRARY, ...) have meanings of their own and are left alone.
//
// Words are sections and keys in capitals. Where a word is a name that the user chose, a model's,
// stream's, field's or setting's, it means the one in the file that is written alike but for
// capitals, '-' and '.' (capitals and '_' in the variable), or else the word in small letters.
#pragma once

#include <vector>

#include "server/schema/config_reader.h"

namespace murmurate {

/// The settings in this process's environment, in the order of their names, and takes them out of
/// it: programs that this one starts are told what they need, and must not hear it twice. Called
/// before any other thread is started.
std::vector<ConfigOverride> TakeEnvironmentOverrides();

/// An override of the environment with the user's names as `entries` has them; any other override
/// as it is. The status: a variable that names no section and key.
Result<ConfigOverride> NamedAsIn(const ConfigEntries& entries, const ConfigOverride& change);

}  // namespace murmurate
