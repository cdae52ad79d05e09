// What `murmurate status` says of games that are played wrongly or that the learner refuses: which
// actor, which of its agents, and why.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/session/server_session.h"

namespace murmurate {

nlohmann::json TroublesJson(const std::vector<wire::ServerSession::TroubleReport>& troubles);
nlohmann::json RefusedActorsJson(const std::vector<wire::ServerSession::RefusedActor>& actors);

/// "  agent 3 of model npc: SENTENCE (the same of 7 more agents)", a line each.
std::string TroubleLines(const nlohmann::json& troubles);
/// "actor game-7 is refused: SENTENCE", a line each.
std::string RefusedActorLines(const nlohmann::json& actors);

}  // namespace murmurate
