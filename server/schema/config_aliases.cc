#include "server/schema/config_aliases.h"

#include <algorithm>
#include <iterator>

namespace murmurate {
namespace {

constexpr const char* kSb3 = "Stable-Baselines3";
constexpr const char* kCleanRl = "CleanRL";
constexpr const char* kRllib = "RLlib";

// Stable-Baselines3 2.x: PPO's and A2C's arguments; CleanRL 1.x: ppo.py's; RLlib 2.x: PPOConfig's.
constexpr ConfigAlias kAliases[] = {
    {"n_steps", "algorithm.trajectory_length", kSb3},
    {"batch_size", "algorithm.minibatch", kSb3},
    {"n_epochs", "algorithm.epochs", kSb3},
    {"gae_lambda", "algorithm.lambda", kSb3},
    {"clip_range", "algorithm.clip", kSb3},
    {"ent_coef", "algorithm.entropy", kSb3},
    {"vf_coef", "algorithm.value_weight", kSb3},
    {"normalize_advantages", "algorithm.normalize_advantage", kSb3},
    {"norm_reward", "algorithm.normalize_reward", kSb3},
    {"norm_obs", "model.normalize_observation", kSb3},
    {"clip_reward", "algorithm.reward_clip", kSb3},
    {"total_timesteps", "run.steps", kSb3},
    {"n_envs", "run.agents", kSb3},
    {"net_arch", "model.layers", kSb3},
    {"activation_fn", "model.activation", kSb3},
    {"n_stack", "model.frame_stack", kSb3},
    {"num_steps", "algorithm.trajectory_length", kCleanRl},
    {"update_epochs", "algorithm.epochs", kCleanRl},
    {"clip_coef", "algorithm.clip", kCleanRl},
    {"norm_adv", "algorithm.normalize_advantage", kCleanRl},
    {"num_envs", "run.agents", kCleanRl},
    {"env_id", "run.environment", kCleanRl},
    {"lr", "optimizer.learning_rate", kRllib},
    {"rollout_fragment_length", "algorithm.trajectory_length", kRllib},
    {"train_batch_size", "algorithm.batch_steps", kRllib},
    {"minibatch_size", "algorithm.minibatch", kRllib},
    {"sgd_minibatch_size", "algorithm.minibatch", kRllib},
    {"num_sgd_iter", "algorithm.epochs", kRllib},
    {"num_epochs", "algorithm.epochs", kRllib},
    {"lambda_", "algorithm.lambda", kRllib},
    {"clip_param", "algorithm.clip", kRllib},
    {"entropy_coeff", "algorithm.entropy", kRllib},
    {"vf_loss_coeff", "algorithm.value_weight", kRllib},
    {"grad_clip", "algorithm.max_grad_norm", kRllib},
    {"fcnet_hiddens", "model.layers", kRllib},
};

}  // namespace

const ConfigAlias* FindAlias(const std::string& name) {
  const auto found = std::ranges::find(kAliases, name, &ConfigAlias::theirs);
  return found == std::end(kAliases) ? nullptr : found;
}

std::string AliasAdvice(const std::string& name, const std::vector<std::string>& known) {
  const ConfigAlias* alias = FindAlias(name);
  if (alias == nullptr) return "";
  const std::string path = alias->path;
  const std::size_t dot = path.find('.');
  const std::string section = path.substr(0, dot), key = path.substr(dot + 1);
  const bool here = std::ranges::find(known, key) != known.end();
  return "did you mean \"" + key + (here ? "\"" : "\" in [" + section + ']') + "? (" +
         alias->whose + " calls it " + name + ')';
}

}  // namespace murmurate
