// These checks refuse a config for what no single key shows. Each fails with one sentence: place,
// key, what was expected, what to do.
#pragma once

#include "server/config/config.h"

namespace murmurate {

/// Checks who may connect, and where.
Status CheckListen(const Config& config);
/// Checks an address to listen on, of the server or of a stream.
Status CheckListenAddress(const Config& config, const std::string& address);
/// Checks [page].
Status CheckPage(const Config& config);
/// Checks [environment] beside run.environment.
Status CheckEnvironment(const Config& config);
/// Checks [settings].
Status CheckSettings(const Config& config);
/// Checks [model], [algorithm] and [optimizer], in general and of models with their own section.
Status CheckModels(const Config& config);
/// Checks [algorithm] of a model for keys that its algorithm refuses.
Status CheckRefusals(const Config& config, const std::string& model);
/// Keys of algorithms that learn from a replay, beside one that does not; and a replay too small.
Status CheckReplay(const Config& config, const std::string& model);
/// Checks [optimizer] of a model for keys that only another optimizer has.
Status CheckOptimizer(const Config& config, const std::string& model);
/// Checks in [algorithm] of a model what becomes of late play.
Status CheckStaleness(const Config& config, const std::string& model);
/// Checks in [algorithm] of a model the second bound of its ratio.
Status CheckDualClip(const Config& config, const std::string& model);
/// Checks in [model] of a model where it is trained.
Status CheckDevice(const Config& config, const std::string& model);
/// Checks [data].
Status CheckData(const Config& config);
/// Checks each [[hook]], and what it asks of the rest.
Status CheckHooks(const Config& config);
/// Checks [parameters].
Status CheckParameters(const Config& config);
/// Checks a stream against what else is asked for, and the streams before it.
Status CheckStream(const Config& config, const StreamSettings& stream,
                   const std::vector<StreamSettings>& before);

}  // namespace murmurate
