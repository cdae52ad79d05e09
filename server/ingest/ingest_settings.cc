#include "server/ingest/ingest_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

const Keys<ServerSettings>& ServerKeys() {
  using namespace keys;
  using S = ServerSettings;
  static const Keys<S> kKeys(
      "server",
      {{"listen", &S::listen, "addresses; \"ipc\" is one in the runtime folder",
        Example("[\"tcp://127.0.0.1:7420\"]")},
       {"shm", &S::shm, "weights by shared memory on the same host",
        Choices({"auto", "on", "off"})},
       {"ingest_budget_bytes", &S::ingest_budget_bytes, "memory for experience on its way",
        Range(1 << 20, kMany)},
       {"max_actors", &S::max_actors, "actor processes at once", Range(1, 65536)},
       {"insecure", &S::insecure, "listen beyond this host without keys", Example("true")}});
  return kKeys;
}

const Keys<AssemblySettings>& AssemblyKeys() {
  using namespace keys;
  using S = AssemblySettings;
  static const Keys<S> kKeys(
      "algorithm",
      {{"max_trajectory_s", &S::max_trajectory_s, "hand shorter ones over after this",
        Range(0.001, 86400)},
       {"batches_ahead", &S::batches_ahead,
        "batches that actors may play before the first is learned from; more: faster, later play",
        Example("4"), Range(2, 64)},
       {"newest_weights", &S::newest_weights,
        "agents play newer weights inside a trajectory, not only from the next one on"},
       {"fit_to_agents", &S::fit_to_agents,
        "trajectory_length, batch_steps and minibatch, as far as they are not set, follow the "
        "agents that play"},
       {"quorum", &S::quorum, "staleness = \"block\": share of live agents that a batch needs",
        Example("0.75"), Range(kTiny, 1)},
       {"max_batch_s", &S::max_batch_s, "train on a partial batch after this",
        Range(0.001, 86400)}});
  return kKeys;
}

}  // namespace murmurate
