#include "server/learn/algorithm_keys.h"

#include "server/learn/algorithms.h"

namespace murmurate {
namespace {

constexpr EnumName<Schedule::Shape> kShapeNames[] = {
    {Schedule::Shape::kLinear, "linear"},
    {Schedule::Shape::kCosine, "cosine"},
    {Schedule::Shape::kExponential, "exponential"}};

/// Adam's bias correction divides by 1 - beta^t.
constexpr double kBelowOne = 0.999999;

}  // namespace

constexpr std::span<const EnumName<Schedule::Shape>> NamesOf(Schedule::Shape) {
  return kShapeNames;
}

Schedule ConfigType<Schedule>::From(const ConfigValue& value) {
  if (const auto number = As<double>(value)) return Schedule(*number);
  const auto& written = std::get<ConfigSchedule>(value);
  Schedule schedule;
  schedule.from = written.from;
  schedule.to = written.to;
  schedule.over_the_budget = !written.steps;
  schedule.steps = static_cast<std::uint64_t>(written.steps.value_or(0));
  schedule.shape = *Named<Schedule::Shape>(written.shape);
  return schedule;
}

const Keys<AlgorithmSettings>& AlgorithmKeys() {
  using namespace keys;
  using S = AlgorithmSettings;
  static const Keys<S> kKeys(
      "algorithm",
      {{"name", ValueKind::kString, DefaultAlgorithm().name,
        [](const ConfigValue& value, S* s) {
          s->kind = AlgorithmNamed(std::get<std::string>(value));
        },
        "how it learns; it has defaults of its own", Example('"' + Algorithms()[1]->name + '"'),
        Choices(AlgorithmNames())},
       {"trajectory_length", &S::trajectory_length, "T, steps", Range(1, 65536)},
       {"batch_steps", &S::batch_steps, "steps of a batch, a multiple of T", Range(1, 1 << 24)},
       {"minibatch", &S::minibatch, "steps of an update", Range(1, 1 << 24)},
       {"epochs", &S::epochs, "passes over a batch", Range(1, 1000)},
       {"gamma", &S::gamma, "discount", Range(0, 1)},
       {"lambda", &S::lambda, "of advantages and value targets", Range(0, 1)},
       {"reward_scale", &S::reward_scale, "rewards are multiplied by it", Example("0.1"),
        Range(kTiny, 1e12)},
       {"normalize_reward", &S::normalize_reward,
        "rewards are divided by the deviation of the discounted return; usual: unless reward_scale "
        "is set",
        Default(true)},
       {"reward_clip", &S::reward_clip,
        "and cut to +- this; 0: not; usual: 10 when normalized, else 0", Unset(), Example("10"),
        Range(0, 1e12)},
       {"clip", &S::clip, "of the policy's ratio, where a batch has several updates",
        Range(kTiny, 100)},
       {"dual_clip", &S::dual_clip,
        "most ratio of a step that was worse than expected, above 1; 0: no bound", Example("3"),
        Range(0, 1000)},
       {"entropy", &S::entropy, "weight of the entropy bonus", Example("0.01"), Range(0, 100)},
       {"normalize_advantage", &S::normalize_advantage, "to mean 0 and deviation 1 over the batch"},
       {"value_weight", &S::value_weight, "weight of the value loss", Range(0, 1000)},
       {"max_grad_norm", &S::max_grad_norm, "clip gradients to this length; 0: not",
        Range(0, 1e12)},
       {"max_staleness", &S::max_staleness, "versions; older play is dropped", Range(0, 1 << 30)},
       {"staleness", &S::staleness, "what becomes of late play"},
       {"target_kl", &S::target_kl,
        "end the epochs early, or shorten the one step of a batch, beyond 1.5 times it; 0: never; "
        "usual: 5 times adaptive_kl",
        Example("0.03"), Range(0, 1000)},
       {"adaptive_kl", &S::adaptive_kl,
        "raise and lower the learning rate until each batch moves the policy by about so much; 0: "
        "not; usual: 0.01 where learning_rate is not set; several learners do not",
        Example("0.01"), Range(0, 1000)},
       {"burn_in", &S::burn_in,
        "recurrent models: first steps of a trajectory, or of a replay's sequence, that only warm "
        "its "
        "state; usual of a sequence: T, at most half of it",
        Example("8"), Range(0, 65535)},
       {"n_step", &S::n_step, "replays: steps of a return before a value stands for the rest",
        Range(1, 1000)},
       {"epsilon", In(&S::policy, &ReplayPolicy::epsilon),
        "replays: share of steps that are chosen at random",
        Default(ConfigSchedule{1.0, 0.05, 10'000}), Range(0, 1)},
       {"epsilon_ladder", In(&S::policy, &ReplayPolicy::ladder_count),
        "replays: agents that have an epsilon of their own each, from epsilon down; 0: all have "
        "the "
        "same",
        Example("8"), Range(0, 1 << 20)},
       {"epsilon_ladder_alpha", In(&S::policy, &ReplayPolicy::ladder_alpha),
        "replays: the last of them has epsilon to the power 1 + this", Range(0, 100)},
       {"double_q", &S::double_q, "replays: the best next action is the policy's own choice"},
       {"dueling", In(&S::policy, &ReplayPolicy::dueling),
        "replays: the value of the state and the advantages of choices are learned apart"},
       {"quantiles", In(&S::policy, &ReplayPolicy::quantiles),
        "replays: of the return, learned for each choice; 1: its mean alone", Example("50"),
        Range(1, 1000)},
       {"target_every", &S::target_every, "replays: updates after which target networks move",
        Range(1, 1 << 30)},
       {"target_part", &S::target_part,
        "replays: how far they move towards what they follow; 1: all the way", Range(kTiny, 1)},
       {"policy_every", In(&S::policy, &ReplayPolicy::every),
        "replays: updates of the values for each of the policy", Range(1, 1000)},
       {"initial_temperature", In(&S::policy, &ReplayPolicy::initial_temperature),
        "replays: first weight of the entropy, tuned from then on", Range(kTiny, 1e6)},
       {"target_entropy", In(&S::policy, &ReplayPolicy::target_entropy),
        "replays: what that keeps the policy's entropy near, in nats; usual: -1 for each "
        "number, 0.98 log of the choices",
        Example("-1.0"), Range(-1e6, 1e6)},
       {"noise", In(&S::policy, &ReplayPolicy::noise),
        "replays: of a policy without a distribution, deviation of what is added to actions, 1 "
        "being half their box",
        Range(0, 10)},
       {"noise_color", In(&S::policy, &ReplayPolicy::noise_color),
        "replays: what agents draw numbers with; pink lasts, for games where a push must"},
       {"target_noise", In(&S::policy, &ReplayPolicy::target_noise),
        "replays: the same, of the next actions in value targets", Range(0, 10)},
       {"target_noise_clip", In(&S::policy, &ReplayPolicy::target_noise_clip),
        "replays: where that is cut", Range(0, 10)},
       {"expectile", In(&S::policy, &ReplayPolicy::expectile),
        "recordings: of the values of recorded actions, that a state's value is; 0.5: the mean, "
        "nearly 1: the best",
        Range(kTiny, kBelowOne)},
       {"inverse_temperature", In(&S::policy, &ReplayPolicy::inverse_temperature),
        "recordings: recorded actions weigh exp(this x advantage); 0: all alike", Range(0, 1e6)},
       {"max_advantage_weight", In(&S::policy, &ReplayPolicy::max_advantage_weight),
        "recordings: the most that one of them weighs", Range(1, 1e9)}});
  return kKeys;
}

const Keys<AlgorithmSettings>& ReplayKeys() {
  using namespace keys;
  using S = AlgorithmSettings;
  using R = ReplaySettings;
  static const Keys<S> kKeys(
      "replay",
      {{"capacity", In(&S::replay, &R::capacity), "steps that are kept", Range(1, 1e12)},
       {"minibatch", In(&S::replay, &R::minibatch), "steps of an update, or sequences",
        Range(1, 1 << 20)},
       {"sequence", In(&S::replay, &R::sequence),
        "recurrent models: steps of a sequence, burn_in among them, a multiple of T; usual: 3 T",
        Example("120"), Range(0, 1 << 16)},
       {"samples_per_insert", In(&S::replay, &R::samples_per_insert),
        "times that a step is learned from, on average", Range(kTiny, 1e6)},
       {"learning_starts", In(&S::replay, &R::learning_starts),
        "steps that are there before the first update", Range(1, 1e12)},
       {"priority_exponent", In(&S::replay, &R::priority_exponent),
        "steps are drawn by their error to this power; 0: all alike", Example("0.6"), Range(0, 10)},
       {"importance_exponent", In(&S::replay, &R::importance_exponent),
        "how far weights make up for that; 1: wholly", Range(0, 1)},
       {"memory", In(&S::replay, &R::memory),
        "where minibatches are put together; device: the GPU that learns has a copy of the "
        "observations"},
       {"persist", In(&S::replay, &R::persist),
        "it is on disk beside the checkpoints; false: a resumed run fills it anew"},
       {"demonstrations", In(&S::replay, &R::demonstrations),
        "begin with this folder of recorded trajectories, or of episodes in arrays",
        Kind(ValueKind::kPath), Example("\"recordings\"")},
       {"demonstration_share", In(&S::replay, &R::demonstration_share),
        "keep them apart, never evict them, and draw this part of each minibatch from them",
        Example("0.5"), Range(0, 1)}});
  return kKeys;
}

const Keys<AlgorithmSettings>& OptimizerKeys() {
  using namespace keys;
  using S = AlgorithmSettings;
  static const Keys<S> kKeys(
      "optimizer",
      {{"name", &S::optimizer, "what makes a step of a gradient"},
       {"learning_rate", &S::learning_rate, "step size", Example("3e-4"), Range(kTiny, 100)},
       {"value_rate_factor", &S::value_rate_factor,
        "the value's step size for each of the policy's; of a shared trunk, its head's",
        Example("3"), Range(kTiny, 1000)},
       {"weight_decay", &S::weight_decay,
        "decoupled, of kernels: not of biases, gains and log deviations", Example("0.01"),
        Range(0, 100)},
       {"epsilon", &S::optimizer_epsilon, "of Adam or Adagrad, or inside RMSProp's root",
        Example("1e-5"), Range(kTiny, 1)},
       {"beta1", &S::optimizer_beta1, "of Adam's first moment, the mean gradient",
        Range(0, kBelowOne)},
       {"beta2", &S::optimizer_beta2, "of Adam's second moment, the mean square",
        Range(0, kBelowOne)},
       {"decay", &S::optimizer_decay, "of RMSProp's mean square", Range(0, 1)},
       {"momentum", &S::optimizer_momentum, "of momentum's velocity (Nesterov)", Range(0, 1)}});
  return kKeys;
}

}  // namespace murmurate
