// The names that other libraries have for keys of the config. An unknown key that is one of these
// is answered with our name for it, not with the key that is spelled most like it.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

struct ConfigAlias {
  const char* theirs;  ///< "batch_size"
  const char* path;    ///< "algorithm.minibatch"
  const char* whose;   ///< "Stable-Baselines3"
};

/// Null: no library of this table has a key of that name.
const ConfigAlias* FindAlias(const std::string& name);
/// "did you mean \"minibatch\"? (Stable-Baselines3 calls it batch_size)", with the section where
/// ours is not among `known`, the keys of the section that `name` was found in; "": FindAlias gives
/// null.
std::string AliasAdvice(const std::string& name, const std::vector<std::string>& known);

}  // namespace murmurate
