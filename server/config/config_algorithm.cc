// [algorithm] and [optimizer]: keys that do not suit the algorithm, or one another.
#include "server/config/algorithm_defaults.h"
#include "server/config/config_checks.h"
#include "server/config/model_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"
#include "server/parameters/parameters_settings.h"

namespace murmurate {
namespace {

/// "no such line, because impala clips no ratio; take it out, or write name = ..."
std::string ExpectationOf(const KeyRefusal& refusal, const AlgorithmKind& kind) {
  const std::string other = refusal.instead == nullptr ? "" : FirstAlgorithm(refusal.instead).name;
  std::string because = refusal.because;
  for (const auto& [mark, name] : {std::pair<std::string, std::string>{"{}", kind.name},
                                   std::pair<std::string, std::string>{"{other}", other}})
    if (const std::size_t at = because.find(mark); at != std::string::npos)
      because.replace(at, mark.size(), name);
  return refusal.expected + ", because " + because + "; take " +
         (refusal.written ? "it" : "the line") + " out" +
         (other.empty() ? "" : ", or write name = \"" + other + '"');
}

/// "ppo learns from no replay; take it out, or write name = ... in [algorithm]"
std::string Lacks(const AlgorithmKind& kind, const std::string& what,
                  bool AlgorithmKind::*instead) {
  return kind.name + " learns from no " + what + "; take it out, or write name = \"" +
         FirstAlgorithm(instead).name + "\" in [algorithm]";
}

Status CheckDemonstrations(const SectionView& keys, const ReplaySettings& replay) {
  if (replay.demonstration_share <= 0.0) return {};
  if (replay.demonstrations.empty())
    return keys.Blame("demonstration_share",
                      "is a part of demonstrations, and none are named; write for example "
                      "demonstrations = \"recordings\", or take the line out");
  if (replay.demonstrated() > 0 && replay.demonstrated() < replay.minibatch) return {};
  return keys.Refuse("demonstration_share",
                     "a part of " + std::to_string(replay.minibatch) +
                         " samples that leaves at least one of them to each side; write for "
                         "example demonstration_share = 0.5");
}

/// Keys of algorithms that learn from a replay or from recordings, beside one that has no replay.
Status CheckWithoutReplay(const Config& config, const std::string& model) {
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  const AlgorithmKind& general = KindFor(config.entries(), "");
  if (general.replays) return {};
  const std::string why = Lacks(kind, "replay", &AlgorithmKind::replays);
  const SectionView replay = ReplayKeys().View(config.entries(), model);
  for (const ConfigRule& rule : ReplayKeys().rules())
    if (replay.Given(rule.key)) return replay.Superfluous(rule.key, why);
  if (kind.from_recordings || general.from_recordings) return {};
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  MURMURATE_RETURN_IF_ERROR(
      keys.NoneOf({"expectile", "inverse_temperature", "max_advantage_weight"},
                  Lacks(kind, "recorded rewards", &AlgorithmKind::from_recordings)));
  return keys.NoneOf(
      {"n_step", "epsilon", "epsilon_ladder", "epsilon_ladder_alpha", "double_q", "dueling",
       "quantiles", "target_every", "target_part", "policy_every", "initial_temperature",
       "target_entropy", "noise", "noise_color", "target_noise", "target_noise_clip"},
      why);
}

/// The entry of a key where a model names its algorithm; null: the config says nothing.
const ConfigEntry* Written(const ConfigEntries& entries, const std::string& key,
                           const std::string& model) {
  const SectionView keys = AlgorithmKeys().View(entries, model);
  const bool own_name = entries.values.contains(PathOf("algorithm", "name", model));
  if (own_name && !entries.values.contains(PathOf("algorithm", key, model))) return nullptr;
  return IsDefault(keys[key]) ? nullptr : &keys[key];
}

}  // namespace

/// A key may also stand in a general section for the models, or the shards, that have a use for it.
Status CheckOptimizer(const Config& config, const std::string& model) {
  using Name = OptimizerSettings::Name;
  const SectionView keys = OptimizerKeys().View(config.entries(), model);
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  if (keys.Given("value_rate_factor") && !kind.values && !KindFor(config.entries(), "").values)
    return keys.Superfluous("value_rate_factor", kind.name + " learns no value; take it out");
  const Name own = AlgorithmFor(config, model).optimizer;
  const ParametersSettings parameters = config.parameters();
  if (own == Name::kAdam || AlgorithmFor(config, "").optimizer == Name::kAdam ||
      (parameters.shared() && parameters.optimizer == Name::kAdam))
    return {};
  return keys.NoneOf({"beta1", "beta2"}, std::string("only adam has it, and the optimizer is ") +
                                             TextOf(own) +
                                             "; take it out, or write name = \"adam\"");
}

Status CheckStaleness(const Config& config, const std::string& model) {
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  const AlgorithmSettings settings = AlgorithmKeys().Read(keys);
  const bool blocks = settings.staleness == StalenessPolicy::kBlock;
  if (blocks && settings.max_staleness > 0)
    return keys.Refuse("max_staleness",
                       "0, because staleness = \"block\" is experience of the current version "
                       "only; take the line out, or write staleness = \"drop\"");
  if (config.Read(AssemblyKeys(), model).quorum < 1.0 && !blocks)
    return keys.Refuse("quorum",
                       "1, because only staleness = \"block\" waits for all live agents; take the "
                       "line out, or write staleness = \"block\"");
  return {};
}

Status CheckDualClip(const Config& config, const std::string& model) {
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  const double dual_clip = AlgorithmKeys().Read(keys).dual_clip;
  if (dual_clip == 0.0 || dual_clip > 1.0) return {};
  return keys.Refuse("dual_clip",
                     "0 or a number above 1, because it bounds steps that became more likely; "
                     "write for example dual_clip = 3");
}

Status CheckRefusals(const Config& config, const std::string& model) {
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  for (const KeyRefusal& refusal : kind.refusals) {
    const ConfigEntry* const entry =
        refusal.written ? Written(config.entries(), refusal.key, model) : &keys[refusal.key];
    if (entry == nullptr) continue;
    const bool refused =
        refusal.refused != nullptr
            ? refusal.refused(ToKeyValue(entry->value))
            : entry->value != DefaultOf(*Schema().Find("algorithm", refusal.key), kind).value;
    if (refused) return keys.Refuse(refusal.key, ExpectationOf(refusal, kind));
  }
  return {};
}

/// Keys of sequences, beside an algorithm that has none or a model without a memory.
static Status CheckSequence(const Config& config, const std::string& model) {
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  const SectionView keys = ReplayKeys().View(config.entries(), model);
  if (!kind.sequences) {
    if (!keys.Given("sequence") || KindFor(config.entries(), "").sequences) return {};
    return keys.Superfluous("sequence", kind.name +
                                            " learns from single steps; take it out, or write "
                                            "name = \"" +
                                            FirstAlgorithm(&AlgorithmKind::sequences).name +
                                            "\" in [algorithm]");
  }
  if (!Recurs(WordsFor(config, model)))
    return AlgorithmKeys()
        .View(config.entries(), model)
        .Refuse(
            "name",
            "another algorithm, because " + kind.name +
                " learns what a memory is worth and the model has none; write recurrent = \"gru "
                "32\" in its section, or name = \"" +
                FirstAlgorithm(&AlgorithmKind::replays).name + '"');
  const AlgorithmSettings settings = AlgorithmFor(config, model);
  const int length = settings.trajectory_length, sequence = settings.replay.sequence;
  if (sequence % length != 0 || sequence == 0)
    return keys.Refuse("sequence",
                       "a multiple of trajectory_length (" + std::to_string(length) +
                           "), because a sequence begins where a trajectory does; write "
                           "for example sequence = " +
                           std::to_string((sequence / length + 1) * length));
  if (static_cast<std::uint64_t>(sequence) > settings.replay.capacity)
    return keys.Refuse("capacity", "at least sequence (" + std::to_string(sequence) +
                                       "), or no sample is ever complete");
  return {};
}

Status CheckReplay(const Config& config, const std::string& model) {
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  const SectionView keys = ReplayKeys().View(config.entries(), model);
  if (!kind.replays) return CheckWithoutReplay(config, model);
  MURMURATE_RETURN_IF_ERROR(CheckSequence(config, model));
  const AlgorithmSettings settings = AlgorithmFor(config, model);
  const ParametersSettings parameters = config.parameters();
  const bool shares = parameters.shared() || parameters.hogwild() ||
                      !parameters.collective.empty() || config.run().learners > 1;
  if (shares && settings.policy.every > 1)
    return AlgorithmKeys()
        .View(config.entries(), model)
        .Refuse("policy_every",
                "1, because learners that share a model step all of its networks at once; write "
                "policy_every = 1, or train with one learner");
  const ReplaySettings& replay = settings.replay;
  MURMURATE_RETURN_IF_ERROR(CheckDemonstrations(keys, replay));
  if (replay.learning_starts > replay.capacity)
    return keys.Refuse("learning_starts", "at most capacity (" + std::to_string(replay.capacity) +
                                              "), or learning never starts");
  return {};
}

}  // namespace murmurate
