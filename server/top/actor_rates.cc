#include "server/top/actor_rates.h"

#include <algorithm>

#include "server/operate/json_values.h"
#include "server/top/top_snapshot.h"

namespace murmurate {
namespace {

double NumberAt(const nlohmann::json& json, const char* key) {
  return ValueAt(json, key).number().value_or(0);
}

}  // namespace

void ActorRates::AddTo(nlohmann::json* actor, const Counts* before, Counts* now) const {
  now->steps = NumberAt(*actor, "steps");
  for (const nlohmann::json& bucket : ObjectsAt(*actor, "staleness"))
    now->trajectories += NumberAt(bucket, "trajectories");
  now->staleness = NumberAt(*actor, "staleness_mean") * now->trajectories;
  // An actor that came anew counts from 0, and is one without an earlier answer.
  if (before != nullptr && (before->steps > now->steps || before->trajectories > now->trajectories))
    before = nullptr;
  const double seconds = before != nullptr ? static_cast<double>(now->at_ns - before->at_ns) * 1e-9
                                           : NumberAt(*actor, "here_s");
  const Counts none;
  const Counts& since = before != nullptr ? *before : none;
  const double trajectories = now->trajectories - since.trajectories;
  now->lag = trajectories > 0 ? (now->staleness - since.staleness) / trajectories : since.lag;
  (*actor)["steps_per_s"] = seconds > 0 ? (now->steps - since.steps) / seconds : 0.0;
  (*actor)["lag"] = now->trajectories > 0 ? nlohmann::json(std::max(0.0, now->lag)) : nullptr;
}

void ActorRates::AddTo(nlohmann::json* status, std::int64_t now_ns) {
  std::map<Key, Counts> all;
  std::map<std::string, int> seen;
  if (!status->is_object() || !status->contains("actors") || !(*status)["actors"].is_array())
    return;
  for (nlohmann::json& actor : (*status)["actors"]) {
    if (!actor.is_object()) continue;
    const std::string name = ValueAt(actor, "name").text();
    const Key key{name, seen[name]++};
    const auto earlier = before_.find(key);
    Counts& now = all[key];
    now.at_ns = now_ns;
    AddTo(&actor, earlier == before_.end() ? nullptr : &earlier->second, &now);
  }
  before_ = std::move(all);
}

}  // namespace murmurate
