// What a config is refused for that no single key shows. Each in one sentence: place, key, what was
// expected, what to do.
#pragma once

#include "server/config/config.h"

namespace murmurate {

/// Who may connect, and where.
Status CheckListen(const Config& config);
/// An address to listen on, of the server or of a stream.
Status CheckListenAddress(const Config& config, const std::string& address);
/// [environment] beside run.environment.
Status CheckEnvironment(const Config& config);
/// [settings]
Status CheckSettings(const Config& config);
/// [model], [algorithm] and [optimizer] of a model: schedules and recurrence.
Status CheckModel(const Config& config, const std::string& model);
/// Likewise: batches, and what has to fit into them, and rewards.
Status CheckBatch(const Config& config, const std::string& model);
/// [data]
Status CheckData(const Config& config);
/// [parameters]
Status CheckParameters(const Config& config);
/// A stream against what else is asked for, and the streams before it.
Status CheckStream(const Config& config, const StreamSettings& stream,
                   const std::vector<StreamSettings>& before);

}  // namespace murmurate
