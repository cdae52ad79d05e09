#include "server/operate/status_troubles.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
using Session = wire::ServerSession;

}  // namespace

Json TroublesJson(const std::vector<Session::TroubleReport>& troubles) {
  Json list = Json::array();
  for (const Session::TroubleReport& trouble : troubles) {
    list.push_back({{"model", trouble.model},
                    {"agent", trouble.agents > 0 ? Json(trouble.agent) : Json(nullptr)},
                    {"agents", trouble.agents},
                    {"reason", trouble.sentence}});
  }
  return list;
}

Json RefusedActorsJson(const std::vector<Session::RefusedActor>& actors) {
  Json list = Json::array();
  for (const Session::RefusedActor& actor : actors) {
    list.push_back({{"name", actor.name}, {"reason", actor.sentence}});
  }
  return list;
}

std::string TroubleLines(const Json& troubles) {
  std::string lines;
  for (const Json& trouble : troubles) {
    const Json agent = trouble.value("agent", Json());
    lines += "  " +
             Session::TroubleReport{trouble.value("model", "?"),
                                    agent.is_number() ? agent.get<std::uint32_t>() : 0,
                                    trouble.value("agents", 0u), trouble.value("reason", "?")}
                 .Words() +
             '\n';
  }
  return lines;
}

std::string RefusedActorLines(const Json& actors) {
  std::string lines;
  for (const Json& actor : actors) {
    lines +=
        "actor " + actor.value("name", "?") + " is refused: " + actor.value("reason", "?") + '\n';
  }
  return lines;
}

}  // namespace murmurate
