#include <algorithm>
#include <cstdio>

#include "client/environments/environment.h"
#include "server/command/command_line.h"
#include "server/command/launch.h"
#include "server/config/batch_fit.h"
#include "server/config/config_text.h"
#include "server/config/model_settings.h"
#include "server/daemon/training_places.h"
#include "server/data/training_data.h"
#include "server/device/processor_rate.h"
#include "server/experience/experience_channel.h"
#include "server/experience/memory_room.h"
#include "server/ingest/ingest_settings.h"
#include "server/metrics/number_text.h"
#include "server/network/actor_critic.h"
#include "server/stream/config_stream.h"
#include "server/stream/streaming.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/inference/policy.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

void PrintSettings(const Config& config) {
  const auto lines = Explain(config);
  std::size_t path = 0, value = 0, origin = 0;
  for (const auto& line : lines) {
    path = std::max(path, line.path.size());
    value = std::max(value, std::min<std::size_t>(line.value.size(), 44));
    origin = std::max(origin, line.origin.size());
  }
  for (const auto& line : lines)
    std::printf("%-*s  %-*s  %-*s  %s\n", static_cast<int>(path), line.path.c_str(),
                static_cast<int>(value), line.value.c_str(), static_cast<int>(origin),
                line.origin.c_str(), line.meaning.c_str());
}

void PrintRow(const std::string& layer, const std::string& shape, std::int64_t parameters,
              double flops) {
  const auto number = [](double n) {
    return n == 0 ? std::string() : WithCommas(static_cast<std::uint64_t>(n));
  };
  std::printf("%-34s %14s %14s %14s %14s\n", layer.c_str(), shape.c_str(),
              number(static_cast<double>(parameters)).c_str(),
              number(static_cast<double>(parameters) * sizeof(float)).c_str(),
              number(flops).c_str());
}

struct Sums {
  std::int64_t parameters = 0;
  double flops = 0;
};

void AddLayers(const std::vector<PlannedLayer>& layers, Sums* sums) {
  for (const PlannedLayer& layer : layers) {
    sums->parameters += layer.parameters();
    sums->flops += layer.flops();
  }
}

void PrintLayers(const std::vector<PlannedLayer>& layers) {
  for (const PlannedLayer& layer : layers)
    PrintRow("  " + layer.layer.ToText(), layer.out.ToText(), layer.parameters(), layer.flops());
}

void PrintHead(const std::string& name, int features, int outputs, Sums* sums) {
  const std::int64_t weights = std::int64_t{features} * outputs;
  PrintRow(name, std::to_string(outputs), weights + outputs, 2.0 * static_cast<double>(weights));
  sums->parameters += weights + outputs;
  sums->flops += 2.0 * static_cast<double>(weights);
}

Sums SumsOf(const NetworkPlan& plan) {
  Sums sums;
  for (const PlannedInput& input : plan.inputs) AddLayers(input.layers, &sums);
  AddLayers(plan.trunk, &sums);
  return sums;
}

void PrintNetwork(const ModelSpec& spec, const NetworkPlan& plan) {
  const ObservationLayout observation(spec.row_space());
  for (const PlannedInput& input : plan.inputs) {
    const std::string& name = observation.inputs()[static_cast<std::size_t>(input.input)].name;
    std::string title = name.empty() ? "observation" : name;
    if (input.stack > 1) title += ", " + std::to_string(input.stack) + " frames";
    PrintRow(title, input.in.ToText(), 0, 0);
    PrintLayers(input.layers);
  }
  PrintRow("trunk", std::to_string(plan.joined), 0, 0);
  PrintLayers(plan.trunk);
}

/// The layers of a network and its head; what is as in the policy is one line.
Sums PrintNetworkAndHead(const ModelSpec& spec, const NetworkSpec& network) {
  const NetworkPlan plan = *PlanNetwork(spec, network.name);
  Sums sums;
  if (plan.own_layers) {
    const NetworkSpec& policy = spec.policy();
    sums = SumsOf(plan);
    if (&network == &policy || network.trunk != policy.trunk ||
        network.encoders != policy.encoders || network.reads_action != policy.reads_action ||
        network.reads_privileged)
      PrintNetwork(spec, plan);
    else
      PrintRow("the " + network.name + "'s own layers, as above", std::to_string(plan.features),
               sums.parameters, sums.flops);
  }
  PrintHead(network.name + " head", plan.features, plan.outputs, &sums);
  return sums;
}

void PrintBytes(const char* what, std::size_t bytes) {
  std::printf("  %-40s %16s bytes\n", what, WithCommas(bytes).c_str());
}

/// The GPU of a model and the memory that it takes of it; no device is opened.
void PrintDevice(const Config& config, const std::string& model, const ModelSettings& settings) {
  if (settings.device.processor()) return;
  if (settings.device.chosen())
    std::printf("\ndevice = \"auto\" would choose %s\n",
                ChooseDevice(AskDeviceOf(config, model, settings)).sentence.c_str());
  if (const Status trains = CheckDeviceTrains(settings.spec, settings.algorithm); !trains.ok()) {
    std::printf("\n%s\n", trains.message().c_str());
    return;
  }
  const DeviceMemoryNeed need =
      MeasureDeviceMemory(settings.spec, settings.algorithm, !settings.remote.has_value(),
                          ArithmeticOf(settings.device.precision));
  DeviceSettings named = settings.device;
  if (named.chosen()) named.name = "a GPU";
  std::printf("\n%s, not opened here; what this model takes of its memory:\n",
              InWords(named).c_str());
  const auto of = [&](MemoryPurpose purpose) {
    return need.by_purpose[static_cast<std::size_t>(purpose)];
  };
  PrintBytes("parameters, gradient and optimizer", of(MemoryPurpose::kParameters));
  PrintBytes("batches and their plans", of(MemoryPurpose::kBatches));
  if (of(MemoryPurpose::kReplay) > 0)
    PrintBytes("the replay's observations", of(MemoryPurpose::kReplay));
  PrintBytes("a minibatch's activations and gradients", of(MemoryPurpose::kActivations));
  PrintBytes("workspaces of cuBLASLt and cuDNN, at most", of(MemoryPurpose::kLibraries));
  PrintBytes("all else", of(MemoryPurpose::kWorkspace));
  PrintBytes("together, beside CUDA's own", need.total);
}

/// What its learning threads keep of what was played.
void PrintStores(const ModelSettings& settings) {
  const std::uint64_t bytes = StoreBytes(settings), room = MemoryRoom();
  if (bytes == 0) return;
  std::printf("%s of %s steps: %s bytes", settings.hogwild ? "replays, each" : "a replay",
              WithCommas(settings.algorithm.replay.capacity).c_str(), WithCommas(bytes).c_str());
  if (bytes > room)
    std::printf(", and %s are free here: lower replay.capacity", WithCommas(room).c_str());
  std::printf("\n");
}

void PrintModel(const Config& config, const std::string& name, const ModelSettings& settings) {
  const ModelSpec& spec = settings.spec;
  const ActionLayout action(spec.spaces.action, spec.continuous);
  std::printf("\n%-34s %14s %14s %14s %14s\n", "layer", "output", "parameters", "bytes",
              "FLOPs a step");
  Sums all{.parameters = action.free_deviations(), .flops = 0};
  for (const NetworkSpec& network : spec.networks) {
    const Sums sums = PrintNetworkAndHead(spec, network);
    all.parameters += sums.parameters;
    all.flops += sums.flops;
  }
  PrintRow("all", "", all.parameters, all.flops);
  const ParameterLayout layout(spec);
  std::printf(
      "\npublished with each version: %s bytes\n",
      WithCommas((layout.published.count + layout.statistics.count) * sizeof(float)).c_str());
  const int state = PlanNetwork(spec, spec.policy().name)->state_floats;
  PrintStores(settings);
  if (state > 0) std::printf("an agent's state: %d numbers\n", state);
  std::printf("the network of one Act, measured here: %.2f us\n", 1e6 * MeasureAct(spec));
  if (settings.hogwild)
    std::printf(
        "learning threads: %d, of batches of their own and one block of parameters, which "
        "they step %s\n",
        settings.hogwild->threads, settings.hogwild->locking ? "one after the other" : "at once");
  PrintDevice(config, name, settings);
}

/// Prints [data] as `train` would open it, as the first of its learners.
Result<int> PrintData(const CommonArguments& common, const Config& given) {
  Config config = given;
  MURMURATE_RETURN_IF_ERROR(PrepareCluster(&config));
  const auto data = OpenDataOf(common, config);
  if (!data.ok()) return data.status();
  const auto model = ModelFor(config, "default", (*data)->spaces());
  if (!model.ok()) return model.status();
  MURMURATE_RETURN_IF_ERROR((*data)->PrepareFor(model->spec, model->algorithm.trajectory_length));
  std::printf("\nlearns from %s\n", (*data)->Description().c_str());
  PrintModel(config, "default", *model);
  return 0;
}

/// "temp 1, 6 rows ahead", or "quality of each row, which lab/{device} says later"
std::string ForecastText(const StreamSettings& stream) {
  const ForecastSettings& forecast = stream.forecast;
  std::string targets, rows;
  for (std::size_t i = 0; i < forecast.targets.size(); ++i)
    targets += (targets.empty() ? "" : ", ") + forecast.TargetField(i).name;
  if (stream.labels)
    return targets + " of each row, which " + stream.labels->topic.text() + " says later";
  if (forecast.own_labels()) return targets + " of each message, which has it";
  for (const int horizon : forecast.horizons)
    rows += (rows.empty() ? "" : ", ") + std::to_string(horizon);
  return targets + ' ' + rows + (rows == "1" ? " row ahead" : " rows ahead");
}

/// Prints the streams as `serve` would open them, but for the way to the broker.
Result<int> PrintStreams(const Config& config) {
  for (const StreamSettings& stream : config.streams()) {
    std::string ways = stream.listen.empty() ? "" : "listens on " + stream.listen;
    if (stream.has_broker) {
      const auto link = LinkOf(stream, config.server().insecure);
      if (!link.ok()) return link.status();
      ways = "reads " + stream.subscribe.text() + " at " + link->broker +
             (ways.empty() ? "" : ", " + ways);
    }
    const auto model = ModelForStream(config, stream);
    if (!model.ok()) return model.status();
    const Forecaster forecaster(stream.forecast, model->spec, {});
    std::printf("\nstream %s: %s and forecasts %s; remembers %s bytes of each device\n",
                stream.name.c_str(), ways.c_str(), ForecastText(stream).c_str(),
                WithCommas(forecaster.bytes_per_device()).c_str());
    if (stream.replay > 0)
      std::printf(
          "keeps %s %s to learn again, %s bytes\n",
          WithCommas(static_cast<std::uint64_t>(stream.replay)).c_str(),
          stream.recurrent ? "sequences" : "rows",
          WithCommas(ReplayWindow::BytesOf(stream.layout(model->spec), stream.replay)).c_str());
    PrintModel(config, stream.name, *model);
  }
  return 0;
}

Result<int> RunCheck(const CommonArguments& common, const std::string& name) {
  ConfigSource source{"defaults", "serve", ""};
  if (!name.empty()) {
    auto found = FindConfig(name);
    if (!found.ok()) return found.status();
    source = std::move(*found);
  }
  auto config = Config::Load(source, common.overrides);
  if (!config.ok()) return config.status();
  const auto initial_files = ReadInitialFiles(InitialFilesOf(*config));
  if (!initial_files.ok()) return initial_files.status();
  PrintSettings(*config);
  if (config->data().given()) return PrintData(common, *config);
  if (!config->streams().empty()) return PrintStreams(*config);
  if (config->run().environment.empty()) {
    std::printf(
        "\nrun.environment is not set: the model is made for the spaces of the first actor\n");
    return 0;
  }
  auto environment = MakeEnvironment(config->run().environment, config->environment_options());
  if (!environment.ok()) return environment.status();
  const auto model = ModelFor(*config, "default", (*environment)->spaces());
  if (!model.ok()) return model.status();
  PrintModel(*config, "default", *model);
  if (model->initial_file.path.empty()) return 0;
  const auto weights = MatchInitialFile(model->initial_file, *initial_files, model->spec);
  if (!weights.ok()) return weights.status();
  std::printf("\n%s\n", weights->report.c_str());
  return 0;
}

}  // namespace

void AddCheck(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<std::string>();
  auto* check =
      app->add_subcommand("check", "Explain a config: every value and where it comes from");
  check->add_option("CONFIG", *given, kConfigHelp);
  line->Choose(check, RunCheck, given);
}

}  // namespace murmurate
