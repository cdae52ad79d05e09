#include "server/daemon/stop_rules_of.h"

#include "server/config/algorithm_defaults.h"

namespace murmurate {

StopRules StopRulesOf(const Config& config) {
  const RunSettings& run = config.run();
  return {.at_return = run.stop_at_return,
          .at_steps = run.stop_at_steps,
          .budget = run.steps,
          .evaluated = KindFor(config.entries()).replays};
}

}  // namespace murmurate
