// The processes of several learners around one model that are started one by one.
#include "server/config/config.h"
#include "server/config/config_checks.h"
#include "server/parameters/parameters_settings.h"
#include "server/schema/settings_keys.h"
#include "shared/core/check.h"

namespace murmurate {

Status Config::NameShards() {
  if (parameters().shared()) return {};
  if (run_.shards == 0)
    return InvalidArgument(
        "run.learners: got 1 and parameters.mode is \"local\", so there is no parameter server; "
        "write learners = 2 (or more) in [run], or mode = \"server\" and shards = [...] in "
        "[parameters]");
  const auto set = [this](const std::string& path, ConfigValue value) {
    entries_.values[path] = {std::move(value), "default of several learners"};
  };
  if (parameters().shards.empty()) {
    std::vector<std::string> addresses;
    for (int i = 0; i < run_.shards; ++i)
      addresses.push_back("tcp://127.0.0.1:" + std::to_string(kShardPort + i));
    set("parameters.shards", std::move(addresses));
  }
  set("parameters.mode", std::string("server"));
  set("parameters.workers", std::int64_t{run_.learners});
  set("run.learners", std::int64_t{1});
  set("run.shards", std::int64_t{0});
  run_.learners = 1;
  run_.shards = 0;
  return CheckParameters(*this);
}

Status Config::NameShardsAt(const std::vector<std::string>& addresses) {
  entries_.values["parameters.shards"] = {addresses, "cluster"};
  Config named = *this;
  return named.NameShards();
}

Status Config::JoinCluster(int worker) {
  const bool one_of_a_run = !parameters().shared();
  MURMURATE_RETURN_IF_ERROR(NameShards());
  const int workers = parameters().workers;
  if (one_of_a_run && worker >= workers)
    return InvalidArgument("--worker: got " + std::to_string(worker) + ", expected 0 to " +
                           std::to_string(workers - 1) +
                           ", because the config has run.learners = " + std::to_string(workers) +
                           "; give each learner a number of its own");
  const auto set = [this](const std::string& path, ConfigValue value) {
    entries_.values[path] = {std::move(value), "--worker"};
  };
  set("parameters.worker", std::int64_t{worker});
  if (!one_of_a_run) return CheckParameters(*this);
  run_.ShareAmong(workers);
  run_.seed += kSeedStride * static_cast<std::uint64_t>(worker);
  if (!IsOverride(entries_.values["run.name"].origin))
    run_.name += "-learner-" + std::to_string(worker);
  set("run.name", run_.name);
  set("run.seed", static_cast<std::int64_t>(run_.seed));
  set("run.actors", std::int64_t{run_.actors});
  if (run_.steps) set("run.steps", static_cast<std::int64_t>(*run_.steps));
  if (run_.stop_at_steps) set("run.stop_at_steps", static_cast<std::int64_t>(*run_.stop_at_steps));
  return CheckParameters(*this);
}

}  // namespace murmurate
