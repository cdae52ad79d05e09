#include "server/config/model_settings.h"

#include <algorithm>

#include "server/config/algorithm_defaults.h"
#include "server/data/segment_writer.h"
#include "server/learn/algorithm.h"
#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/model/action_layout.h"

namespace murmurate {
namespace {

constexpr EnumName<Initializer> kInitializerNames[] = {{Initializer::kOrthogonal, "orthogonal"},
                                                       {Initializer::kXavier, "xavier"},
                                                       {Initializer::kHe, "he"},
                                                       {Initializer::kNormal, "normal"}};

/// The layers of a value; units become dense layers.
std::vector<std::string> LayersIn(const ConfigValue& value) {
  const auto* units = std::get_if<std::vector<std::int64_t>>(&value);
  if (units == nullptr) return std::get<std::vector<std::string>>(value);
  std::vector<std::string> layers;
  for (const std::int64_t n : *units) layers.push_back("dense " + std::to_string(n));
  return layers;
}

ShardSettings ShardSettingsOf(const ParametersSettings& parameters,
                              const AlgorithmSettings& algorithm) {
  ShardSettings settings;
  settings.workers = parameters.workers;
  const AlgorithmKind& kind = *algorithm.kind;
  const bool parts = kind.own_play && algorithm.minibatch < algorithm.batch_steps;
  settings.rule = kind.many_updates || parts
                      ? DefaultRuleOfManyUpdates(parameters.rule, settings.workers, parameters.form)
                      : DefaultRule(parameters.rule, settings.workers);
  settings.rule.form = parameters.form.value_or(settings.rule.form);
  if (const auto window = parameters.window)
    settings.rule.window = *window == 0 ? kWholeBatch : *window;
  settings.rule.elastic = parameters.elastic.value_or(settings.rule.elastic);
  settings.rule.adag_scale = parameters.adag_scale;
  settings.optimizer = OptimizerOf(algorithm);
  settings.optimizer.name = parameters.optimizer.value_or(settings.optimizer.name);
  settings.backup = parameters.backup;
  settings.max_staleness = parameters.max_staleness;
  settings.normalize_reward = algorithm.normalize_reward && algorithm.kind->own_play;
  const bool averages = IsSynchronous(parameters.rule) && PushesGradient(settings.rule);
  if (averages && parameters.shards.size() == 1) settings.max_grad_norm = algorithm.max_grad_norm;
  return settings;
}

RemoteSettings RemoteSettingsOf(const ParametersSettings& parameters,
                                const AlgorithmSettings& algorithm) {
  RemoteSettings settings;
  settings.shard = ShardSettingsOf(parameters, algorithm);
  settings.shards = parameters.shards;
  settings.worker = static_cast<std::uint32_t>(parameters.worker);
  settings.optimizer = OptimizerOf(algorithm);
  settings.max_grad_norm = algorithm.max_grad_norm;
  settings.server_rate = parameters.learning_rate;
  settings.rate_factor = parameters.rate_factor();
  settings.overlap = parameters.overlap;
  return settings;
}

InitialFile InitialFileFor(const Config& config, const std::string& model) {
  const SectionView view = ModelKeys().View(config.entries(), model);
  const ModelSection section = config.Read(ModelKeys(), model);
  const auto origin = [&](const char* key) { return view[key].origin + ": " + view.PathOf(key); };
  return {section.initialize_from, origin("initialize_from"), section.initialize_layout,
          section.initialize_map,  origin("initialize_map"),  origin("initialize_layout")};
}

/// "game.toml:3: model.layers: " of the key without which the model could be made; when there is
/// no such one, of the last that is set; "" when none is.
std::string Blame(const Config& config, const std::string& model, const Spaces& spaces) {
  ConfigEntries without = config.entries();
  const SectionView view = ModelKeys().View(without, model);
  std::string where;
  for (const char* key : {"squashed", "frame_stack", "recurrent", "trunk", "inputs", "layers",
                          "previous_action", "previous_reward"}) {
    if (view[key].origin == "default") continue;
    where = view.Locate(key);
    ConfigValue& value = without.values.at(view.PathOf(key)).value;
    const ConfigValue held = std::exchange(value, Schema().Find("model", key)->standard);
    ModelConfig words = ModelKeys().Read(view).words;
    words.separate_value = WordsFor(config, model).separate_value;
    if (MakeSpec(words, spaces).ok()) break;
    value = held;
  }
  return where;
}

Status CheckDeviation(const Config& config, const std::string& model, const ModelSpec& spec) {
  const SectionView keys = ModelKeys().View(config.entries(), model);
  const ActionLayout action(spec.spaces.action, spec.continuous);
  if (!keys.Given("initial_deviation") ||
      std::ranges::count(action.parts(), ActionPart::Kind::kContinuous, &ActionPart::kind) > 0)
    return {};
  return keys.Superfluous("initial_deviation", "no action of model " + model +
                                                   " is continuous; take it out, or write it only "
                                                   "in [model.NAME] of a model whose actions are");
}

/// The policy's layers cannot read what only the value may see.
Status CheckPrivileged(const Config& config, const std::string& model, const Spaces& spaces) {
  const SectionView keys = ModelKeys().View(config.entries(), model);
  const std::optional<bool> separate = WordsFor(config, model).separate_value;
  if (spaces.privileged.kind == Space::Kind::kNone || !keys.Given("separate_value") ||
      separate.value_or(true) || !KindFor(config.entries(), model).values)
    return {};
  return InvalidArgument(keys.Locate("separate_value") + "expected true: the agents of model " +
                         model +
                         " have a privileged observation, which a value that shares the policy's "
                         "layers cannot read");
}

}  // namespace

constexpr std::span<const EnumName<Initializer>> NamesOf(Initializer) { return kInitializerNames; }

const Keys<ModelSection>& ModelKeys() {
  using namespace keys;
  using S = ModelSection;
  static const Keys<S> kKeys(
      "model",
      {{"trunk", In(&S::words, &ModelConfig::trunk), "what encodes pictures", Example("\"mlp\""),
        Choices({"auto", "mlp", "nature_cnn", "impala_cnn"})},
       {"layers", ValueKind::kLayers, ConfigValue(),
        [](const ConfigValue& value, S* s) { s->words.layers = LayersIn(value); },
        "of the trunk; usual: [64, 64]; after nature_cnn [512], impala_cnn [256]",
        Example("[64, 64]")},
       {"inputs", In(&S::words, &ModelConfig::inputs), "layers of single inputs",
        Example("[\"camera: conv 32 8 4\"]")},
       {"recurrent", In(&S::words, &ModelConfig::recurrent), "on top of the trunk",
        Example("\"lstm 128\"")},
       {"frame_stack", In(&S::words, &ModelConfig::frame_stack),
        "pictures (or numbers) seen at once", Example("4"), Range(1, 16)},
       {"previous_action", In(&S::words, &ModelConfig::previous, &PreviousInputs::action),
        "the agent's last action is an input, too", Example("true")},
       {"previous_reward", In(&S::words, &ModelConfig::previous, &PreviousInputs::reward),
        "and the reward for it", Example("true")},
       {"activation", In(&S::words, &ModelConfig::activation),
        "after each layer; usual: relu with pictures, otherwise tanh", Example("\"tanh\"")},
       {"separate_value", In(&S::words, &ModelConfig::separate_value),
        "the value has a trunk of its own; usual: unless it recurs or sees pictures, and always "
        "with a privileged observation",
        Example("true")},
       {"squashed", In(&S::words, &ModelConfig::continuous, &ContinuousSettings::squashed),
        "continuous actions by tanh into their bounds, instead of cut off there", Example("true")},
       {"scale_actions", In(&S::words, &ModelConfig::continuous, &ContinuousSettings::scaled),
        "continuous actions: the box's middle is the policy's 0, half its width 1; usual: true",
        Unset(), Example("true")},
       {"initial_deviation", In(&S::beginning, &Initialization::deviation),
        "of continuous actions: spread at first, 1 being half the box", Example("0.5"),
        Range(1e-6, 7.3)},
       {"state_dependent_deviation",
        In(&S::words, &ModelConfig::continuous, &ContinuousSettings::state_dependent_deviation),
        "the network gives the spread of continuous actions", Example("true")},
       {"normalize_observation", In(&S::words, &ModelConfig::normalize_observation),
        "by running mean and variance"},
       {"initializer", In(&S::beginning, &Initialization::weights), "how weights begin"},
       {"keep_bias", In(&S::beginning, &Initialization::keep_bias),
        "first bias of the gates that keep a recurrent state; usual: lstm 1, gru 0", Example("2.5"),
        Range(-20, 20)},
       {"initialize_from", &S::initialize_from, "a file: its tensors of the same name and shape",
        Kind(ValueKind::kPath), Example("\"weights.safetensors\"")},
       {"initialize_map", &S::initialize_map,
        "a file: lines \"policy.0\" = \"actor.fc1\", our names and those in initialize_from",
        Kind(ValueKind::kPath), Example("\"names.map\"")},
       {"initialize_layout", &S::initialize_layout,
        "of the tensors in initialize_from; auto: as its metadata say, else murmurate"},
       {"threads", &S::threads, "processor threads that train it together", Example("4"),
        Range(1, 64)},
       {"device", In(&S::device, &DeviceSettings::name),
        "where it is trained: cpu, cuda, cuda:N (that GPU), or auto", Example("\"cuda:0\"")},
       {"precision", In(&S::device, &DeviceSettings::precision),
        "of the factors of a GPU's products; sums and parameters are fp32", Example("\"tf32\"")},
       {"deterministic", In(&S::device, &DeviceSettings::deterministic),
        "a GPU gives the same bits each time"},
       {"tune", In(&S::device, &DeviceSettings::tune),
        "a GPU's algorithms are measured once and kept; false: the first that libraries propose"}});
  return kKeys;
}

ModelConfig WordsFor(const Config& config, const std::string& model) {
  ModelConfig words = config.Read(ModelKeys(), model).words;
  if (!words.separate_value && !KindFor(config.entries(), model).values)
    words.separate_value = false;  // no value is learned: a critic would cost as much as the rest
  return words;
}

AlgorithmSettings AlgorithmFor(const Config& config, const std::string& model) {
  AlgorithmSettings settings = config.Read(AlgorithmKeys(), model);
  OptimizerKeys().ReadInto(OptimizerKeys().View(config.entries(), model), &settings);
  ReplayKeys().ReadInto(ReplayKeys().View(config.entries(), model), &settings);
  if (!settings.kind->clips_ratio) settings.clip = AlgorithmSettings().clip;
  for (Schedule* schedule :
       {&settings.clip, &settings.entropy, &settings.learning_rate, &settings.policy.epsilon})
    if (schedule->over_the_budget) schedule->steps = config.run().steps.value_or(0);
  const SectionView view = AlgorithmKeys().View(config.entries(), model);
  if (!As<double>(view["reward_clip"].value))
    settings.reward_clip = settings.normalize_reward ? 10.0 : 0.0;
  settings.threads = config.Read(ModelKeys(), model).threads;
  return settings;
}

/// Whether a key says what it says when it is not set, as the keys of a resolved config do.
static bool IsUsual(const SectionView& keys, const AlgorithmKind& kind, const std::string& key) {
  if (IsDefault(keys[key])) return true;
  const auto rule = std::ranges::find(AlgorithmKeys().rules(), key, &ConfigRule::key);
  const ConfigValue usual = DefaultOf(*rule, kind).value;
  const bool whole_batch = std::holds_alternative<std::monostate>(usual);
  return keys[key].value == (whole_batch ? keys["batch_steps"].value : usual);
}

/// What the config leaves open may follow the agents, of several learners each its own, where
/// nothing else goes by it: threads that share a block, recordings. Recurrent models learn nothing
/// beyond a trajectory.
static BatchSizing SizingFor(const Config& config, const std::string& model,
                             const ModelSettings& settings) {
  BatchSizing sizing;
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  if (!settings.fit_to_agents || settings.hogwild || !settings.algorithm.kind->own_play ||
      !config.recording().folder.empty())
    return sizing;
  const auto usual = [&](const char* key) { return IsUsual(keys, *settings.algorithm.kind, key); };
  sizing.length_free = usual("trajectory_length") && usual("burn_in");
  sizing.steps_free = usual("batch_steps") && usual("minibatch");
  sizing.least_length = settings.spec.recurrent() ? 32 : 8;
  return sizing;
}

Result<ModelSettings> ModelFor(const Config& config, const std::string& model,
                               const Spaces& spaces) {
  Result<ModelSpec> spec = MakeSpec(WordsFor(config, model), spaces);
  if (!spec.ok()) return InvalidArgument(Blame(config, model, spaces) + spec.status().message());
  MURMURATE_RETURN_IF_ERROR(CheckDeviation(config, model, *spec));
  MURMURATE_RETURN_IF_ERROR(CheckPrivileged(config, model, spaces));
  const AlgorithmSettings algorithm = AlgorithmFor(config, model);
  spec = algorithm.kind->networks(*std::move(spec), algorithm);
  if (!spec.ok()) return InvalidArgument("model " + model + ": " + spec.status().message());
  const ParametersSettings parameters = config.parameters();
  ModelSettings settings;
  AssemblyKeys().ReadInto(AssemblyKeys().View(config.entries(), model), &settings);
  settings.algorithm = algorithm;
  settings.spec = *std::move(spec);
  const ModelSection section = config.Read(ModelKeys(), model);
  settings.beginning = section.beginning;
  settings.device = section.device;
  // A policy begins without a preference, and a forecast with "as it was"; labels want neither.
  if (!settings.algorithm.kind->own_play && config.StreamOf(model) == nullptr)
    settings.beginning.policy_gain = 1.0;
  settings.initial_file = InitialFileFor(config, model);
  if (parameters.shared()) settings.remote = RemoteSettingsOf(parameters, settings.algorithm);
  settings.hogwild = parameters.hogwild();
  settings.sizing = SizingFor(config, model, settings);
  return settings;
}

Result<ModelSettings> ModelForStream(const Config& config, const StreamSettings& stream) {
  return ModelFor(config, stream.name, stream.spaces());
}

ShardSettings ShardSettingsFor(const Config& config, const std::string& model) {
  return ShardSettingsOf(config.parameters(), AlgorithmFor(config, model));
}

std::vector<InitialFile> InitialFilesOf(const Config& config) {
  std::vector<InitialFile> files;
  for (const std::string& model : config.models())
    if (InitialFile file = InitialFileFor(config, model); file.named())
      files.push_back(std::move(file));
  return files;
}

}  // namespace murmurate
