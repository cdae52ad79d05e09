// The hooks of a run (server/hooks) in the daemon: what they are told of, and what they may do.
//
//   mmr-learn --mail--> mmr-operate --HookEvent--> Hooks --> mmr-hook.N --HookActions--> models
#pragma once

#include <string>

#include "murmurate/status.h"
#include "server/daemon/live_models.h"
#include "server/daemon/run_parts.h"
#include "server/operate/operate.h"

namespace murmurate {

/// Sets what operating tells hooks and asks them, when the config has any.
void TellOfHooks(RunParts* parts, OperateOptions* options);
/// Starts them, before the first model and after all that they may call. Of several ranks only the
/// first has hooks.
Status StartHooks(RunParts* parts, LiveModels* models);
/// Tells them of the end, after the last checkpoint, and waits for each as long as it may take.
void EndHooks(const RunParts& parts, const std::string& reason);

}  // namespace murmurate
