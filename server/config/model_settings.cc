#include "server/config/model_settings.h"

#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"
#include "server/stream/config_stream.h"

namespace murmurate {
namespace {

constexpr EnumName<Initializer> kInitializerNames[] = {{Initializer::kOrthogonal, "orthogonal"},
                                                       {Initializer::kXavier, "xavier"},
                                                       {Initializer::kHe, "he"},
                                                       {Initializer::kNormal, "normal"}};

/// Units as layers.
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
  settings.rule = algorithm.name == AlgorithmName::kPpo
                      ? UsualRuleOfManyUpdates(parameters.rule, settings.workers, parameters.form)
                      : UsualRule(parameters.rule, settings.workers);
  settings.rule.form = parameters.form.value_or(settings.rule.form);
  if (const auto window = parameters.window)
    settings.rule.window = *window == 0 ? kWholeBatch : *window;
  settings.rule.elastic = parameters.elastic.value_or(settings.rule.elastic);
  settings.rule.adag_scale = parameters.adag_scale;
  settings.optimizer = OptimizerOf(algorithm);
  settings.optimizer.name = parameters.optimizer.value_or(settings.optimizer.name);
  settings.backup = parameters.backup;
  settings.max_staleness = parameters.max_staleness;
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
  settings.overlap = parameters.overlap;
  return settings;
}

InitialFile InitialFileFor(const Config& config, const std::string& model) {
  const SectionView view = ModelKeys().View(config.entries(), model);
  return {config.Read(ModelKeys(), model).initialize_from,
          view["initialize_from"].origin + ": " + view.PathOf("initialize_from")};
}

/// "game.toml:3: model.layers: " of the key without which the model could be made; when there is
/// no such one, of the last that is set; "" when none is.
std::string Blame(const Config& config, const std::string& model, const Spaces& spaces) {
  ConfigEntries without = config.entries();
  const SectionView view = ModelKeys().View(without, model);
  std::string where;
  for (const char* key : {"squashed", "frame_stack", "recurrent", "trunk", "inputs", "layers"}) {
    if (view[key].origin == "default") continue;
    where = view.Place(key);
    ConfigValue& value = without.values.at(view.PathOf(key)).value;
    const ConfigValue held = std::exchange(value, Schema().Find("model", key)->standard);
    ModelWords words = ModelKeys().Read(view).words;
    words.separate_value = WordsFor(config, model).separate_value;
    if (MakeSpec(words, spaces).ok()) break;
    value = held;
  }
  return where;
}

}  // namespace

constexpr std::span<const EnumName<Initializer>> NamesOf(Initializer) { return kInitializerNames; }

const Keys<ModelSection>& ModelKeys() {
  using namespace keys;
  using S = ModelSection;
  static const Keys<S> kKeys(
      "model",
      {{"trunk", In(&S::words, &ModelWords::trunk), "what encodes pictures", Example("\"mlp\""),
        Choices({"auto", "mlp", "nature_cnn", "impala_cnn"})},
       {"layers", ValueKind::kLayers, ConfigValue(),
        [](const ConfigValue& value, S* s) { s->words.layers = LayersIn(value); },
        "of the trunk; usual: [64, 64]; after nature_cnn [512], impala_cnn [256]",
        Example("[64, 64]")},
       {"inputs", In(&S::words, &ModelWords::inputs), "layers of single inputs",
        Example("[\"camera: conv 32 8 4\"]")},
       {"recurrent", In(&S::words, &ModelWords::recurrent), "on top of the trunk",
        Example("\"lstm 128\"")},
       {"frame_stack", In(&S::words, &ModelWords::frame_stack),
        "pictures (or numbers) seen at once", Example("4"), Range(1, 16)},
       {"activation", In(&S::words, &ModelWords::activation),
        "after each layer; usual: relu with pictures, otherwise tanh", Example("\"tanh\"")},
       {"separate_value", In(&S::words, &ModelWords::separate_value),
        "the critic has a trunk of its own; usual: unless it recurs", Example("true")},
       {"squashed", In(&S::words, &ModelWords::continuous, &ContinuousSettings::squashed),
        "continuous actions by tanh into their bounds, instead of cut off there", Example("true")},
       {"scale_actions", In(&S::words, &ModelWords::continuous, &ContinuousSettings::scaled),
        "continuous actions: the box's middle is the policy's 0, half its width 1; usual: true",
        Unset(), Example("true")},
       {"initial_deviation", In(&S::beginning, &Initialization::deviation),
        "of continuous actions: spread at first, 1 being half the box", Example("0.5"),
        Range(1e-6, 7.3)},
       {"state_dependent_deviation",
        In(&S::words, &ModelWords::continuous, &ContinuousSettings::state_dependent_deviation),
        "the network gives the spread of continuous actions", Example("true")},
       {"normalize_observation", In(&S::words, &ModelWords::normalize_observation),
        "by running mean and variance"},
       {"initializer", In(&S::beginning, &Initialization::weights), "how weights begin"},
       {"keep_bias", In(&S::beginning, &Initialization::keep_bias),
        "first bias of the gates that keep a recurrent state; usual: lstm 1, gru 0", Example("2.5"),
        Range(-20, 20)},
       {"initialize_from", &S::initialize_from, "a file: its tensors of the same name and shape",
        Kind(ValueKind::kPath), Example("\"weights.safetensors\"")},
       {"threads", &S::threads, "processor threads that train it together", Example("4"),
        Range(1, 64)}});
  return kKeys;
}

ModelWords WordsFor(const Config& config, const std::string& model) {
  ModelWords words = config.Read(ModelKeys(), model).words;
  const auto algorithm = AlgorithmNamed(config.AlgorithmNameFor(model));
  if (!words.separate_value && algorithm && LearnsLabels(*algorithm))
    words.separate_value = false;  // nobody learns a value: a critic would cost as much as the rest
  return words;
}

AlgorithmSettings AlgorithmFor(const Config& config, const std::string& model) {
  AlgorithmSettings settings = config.Read(AlgorithmKeys(), model);
  OptimizerKeys().ReadInto(OptimizerKeys().View(config.entries(), model), &settings);
  if (settings.name != AlgorithmName::kPpo) settings.clip = AlgorithmSettings().clip;
  for (Schedule* schedule : {&settings.clip, &settings.entropy, &settings.learning_rate})
    if (schedule->over_the_budget) schedule->steps = config.run().steps.value_or(0);
  const SectionView view = AlgorithmKeys().View(config.entries(), model);
  if (!As<double>(view["reward_clip"].value))
    settings.reward_clip = settings.normalize_reward ? 10.0 : 0.0;
  settings.threads = config.Read(ModelKeys(), model).threads;
  return settings;
}

Result<ModelSettings> Config::ModelFor(const std::string& model, const Spaces& spaces) const {
  Result<ModelSpec> spec = MakeSpec(WordsFor(*this, model), spaces);
  if (!spec.ok()) return InvalidArgument(Blame(*this, model, spaces) + spec.status().message());
  const auto parameters = Read(ParametersKeys());
  ModelSettings settings;
  AssemblyKeys().ReadInto(AssemblyKeys().View(entries_, model), &settings);
  settings.algorithm = AlgorithmFor(*this, model);
  settings.spec = *std::move(spec);
  settings.beginning = Read(ModelKeys(), model).beginning;
  // A policy begins without a preference, and a forecast with "as it was"; labels want neither.
  if (LearnsLabels(settings.algorithm.name) && StreamOf(model) == nullptr)
    settings.beginning.policy_gain = 1.0;
  settings.initial_file = InitialFileFor(*this, model);
  if (parameters.shared()) settings.remote = RemoteSettingsOf(parameters, settings.algorithm);
  settings.hogwild = parameters.hogwild();
  return settings;
}

std::vector<InitialFile> Config::initial_files() const {
  std::vector<InitialFile> files;
  for (const std::string& model : models())
    if (InitialFile file = InitialFileFor(*this, model); !file.path.empty())
      files.push_back(std::move(file));
  return files;
}

ShardSettings Config::shard_settings(const std::string& model) const {
  return ShardSettingsOf(Read(ParametersKeys()), AlgorithmFor(*this, model));
}

bool Config::shares_parameters() const { return Read(ParametersKeys()).shared(); }

std::optional<HogwildSettings> Config::hogwild() const { return Read(ParametersKeys()).hogwild(); }

std::vector<std::string> Config::shards() const { return Read(ParametersKeys()).shards; }

std::string Config::collective() const { return Read(ParametersKeys()).collective; }

}  // namespace murmurate
