#include "server/config/algorithm_defaults.h"

namespace murmurate {
namespace {

ConfigValue I(std::int64_t value) { return value; }

// Published IMPALA constants are for losses summed over the batch; ours are means
// (server/network/ppo_action_loss.h converts them), so the clip is a length for means.
const std::vector<AlgorithmDefault> kImpala{
    {"algorithm", "trajectory_length", I(64)},
    {"algorithm", "batch_steps", I(512)},
    {"algorithm", "minibatch", {}},
    {"algorithm", "epochs", I(1)},
    {"algorithm", "clip", {}},
    {"algorithm", "entropy", 0.003},
    {"algorithm", "normalize_advantage", false},
    {"optimizer", "learning_rate", 1e-3},
};

const std::vector<AlgorithmDefault> kA2c{
    {"algorithm", "trajectory_length", I(16)},
    {"algorithm", "batch_steps", I(128)},
    {"algorithm", "minibatch", {}},
    {"algorithm", "epochs", I(1)},
    {"algorithm", "clip", {}},
    {"algorithm", "normalize_advantage", false},
    {"algorithm", "max_staleness", I(0)},
    {"algorithm", "staleness", std::string("block")},
    {"optimizer", "learning_rate", 1e-3},
};

const std::vector<AlgorithmDefault> kLabels{
    {"algorithm", "normalize_reward", false},
    {"algorithm", "epochs", I(1)},
    {"optimizer", "learning_rate", 1e-3},
};

}  // namespace

const std::vector<AlgorithmDefault>& AlgorithmDefaults(const std::string& algorithm) {
  static const std::vector<AlgorithmDefault> kNone;
  if (algorithm == "supervised" || algorithm == "bc") return kLabels;
  return algorithm == "impala" ? kImpala : algorithm == "a2c" ? kA2c : kNone;
}

ConfigEntry DefaultOf(const ConfigRule& rule, const std::string& algorithm) {
  for (const AlgorithmDefault& own : AlgorithmDefaults(algorithm)) {
    if (own.section == rule.section && own.key == rule.key)
      return {own.value, "default of " + algorithm};
  }
  return {rule.standard, "default"};
}

}  // namespace murmurate
