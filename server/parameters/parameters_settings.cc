#include "server/parameters/parameters_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

const Keys<ParametersSettings>& ParametersKeys() {
  using namespace keys;
  using S = ParametersSettings;
  static const Keys<S> kKeys(
      "parameters",
      {{"mode", &S::mode, "whether this learner has its parameters to itself",
        Example("\"server\""), Choices({"local", "server"})},
       {"collective", &S::collective,
        "the engine of ranks that mpirun starts and that average every gradient",
        Example("\"mpi\""), Choices({"mpi"})},
       {"rank_warning_s", &S::rank_warning_s,
        "seconds after which the ranks of a job name one that they wait for", Range(0.1, 1e6)},
       {"rank_timeout_s", &S::rank_timeout_s, "seconds after which they give the job up; 0: never",
        Example("120.0"), Range(0, 1e6)},
       {"rule", &S::rule, "how learners' updates become one"},
       {"threads", In(&S::threads, &HogwildSettings::threads),
        "hogwild: threads of this learner that step its parameters at once", Example("2"),
        Range(1, 64)},
       {"locking", In(&S::threads, &HogwildSettings::locking),
        "hogwild: one thread after the other reads and steps all of them", Example("true")},
       {"form", &S::form, "what is pushed; usual: the rule's for the algorithm",
        Example("\"gradient\""), Choices({"gradient", "delta"})},
       {"window", &S::window,
        "updates from one exchange to the next; 0: a batch; usual: the rule's for the algorithm",
        Example("5"), Range(0, 1 << 20)},
       {"elastic", &S::elastic, "alpha of easgd, aeasgd, aeamsgd; usual: 0.9 / workers",
        Example("0.3"), Range(kTiny, 1)},
       {"adag_scale", &S::adag_scale, "adag: distance that halves a step, squared",
        Range(kTiny, kMany)},
       {"shards", &S::shards, "addresses of the parameter server, in the order of --shard",
        Example("[\"tcp://127.0.0.1:7430\"]")},
       {"worker", &S::worker, "this learner's number among them", Example("1"), Range(0, 65535)},
       {"workers", &S::workers, "learners that begin together", Example("4"), Range(1, 65536)},
       {"backup", &S::backup, "sync, sagn: so many late ones are not waited for", Example("1"),
        Range(0, 65535)},
       {"max_staleness", &S::max_staleness,
        "pushes that a learner may be ahead of the slowest; 0: any", Example("8"),
        Range(0, 1 << 20)},
       {"overlap", &S::overlap, "exchange while the next gradient is computed", Example("true")},
       {"optimizer", &S::optimizer, "the shards'; usual: as [optimizer]", Example("\"adagrad\"")},
       {"learning_rate", &S::learning_rate,
        "of the shards' optimizer; usual: the learner's at that time", Unset(), Example("0.01"),
        Range(kTiny, 100)},
       {"rate_factors", &S::rate_factors,
        "of each learner, in the order of their numbers: its rate is so many times the config's",
        Example("[1.0, 0.5]"), Range(1e-3, 1e3)}});
  return kKeys;
}

}  // namespace murmurate
