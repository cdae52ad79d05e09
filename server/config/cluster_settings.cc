#include "server/config/cluster_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

const Keys<ClusterSettings>& ClusterKeys() {
  using namespace keys;
  using S = ClusterSettings;
  static const Keys<S> kKeys(
      "cluster",
      {{"serve", &S::serve,
        "of `murmurate cluster`: its learners wait for actors from outside, as `serve` does",
        Example("true")},
       {"shard_hosts", &S::shard_hosts,
        "names or addresses of the hosts that have its shards, in turn; usual: this host",
        Example("[\"10.0.0.1\"]")},
       {"learner_hosts", &S::learner_hosts,
        "of those that have its learners, in turn; usual: this host",
        Example("[\"10.0.0.1\", \"10.0.0.2\"]")}});
  return kKeys;
}

}  // namespace murmurate
