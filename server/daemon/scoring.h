// Scoring: what weights are worth: episodes of a built-in game on seeds that training never uses.
// It plays a client without a learner, as a shipped game would.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "client/environments/environment.h"
#include "murmurate/status.h"
#include "server/daemon/policy_player.h"
#include "server/operate/evaluation.h"
#include "shared/model/weights_file.h"

namespace murmurate {

using Environments = std::vector<std::unique_ptr<Environment>>;

/// The first `episodes` of a fixed series, the same for every caller. Each environment (all of one
/// game) is played by a thread of its own, the first by the caller's; what comes out does not
/// depend on how many there are. `stop` is asked every few steps by all of these threads and may be
/// empty; true ends it with kUnavailable.
Result<EpisodeList> PlayEpisodes(const WeightsFile& weights, ScoredPlay play,
                                 std::span<const std::unique_ptr<Environment>> environments,
                                 int episodes, const std::function<bool()>& stop = {});

}  // namespace murmurate
