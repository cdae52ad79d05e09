// The kinds of hooks that there are, and the [[hook]] sections of a config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/hooks/hook_settings.h"

namespace murmurate {

const std::vector<HookKind>& HookKinds();
/// The keys that every kind has.
const Keys<HookSettings>& HookKeys();
/// Those, and the own ones of each kind.
std::vector<ConfigRule> HookRules();

struct ConfiguredHook {
  HookSettings settings;
  std::unique_ptr<Hook> hook;
};

/// Fills in the defaults of each [[hook]]. A name that is not set is the kind's; of several of a
/// kind, logging, logging-2 and so on.
void ResolveHooks(ConfigEntries* entries);
/// Makes the hooks of a config that is resolved, in their order; `tools` without the name and the
/// model. The status names the first that cannot be: file, line, key, what was expected.
Result<std::vector<ConfiguredHook>> MakeHooks(const ConfigEntries& entries, HookTools tools);

}  // namespace murmurate
