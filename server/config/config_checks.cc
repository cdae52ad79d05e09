#include "server/config/config_checks.h"

#include <algorithm>

#include "client/environments/environment.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"
#include "server/parameters/parameters_settings.h"
#include "server/stream/config_stream.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"
#include "shared/wire/limits.h"

namespace murmurate {
namespace {

/// `place`: as a message begins.
Status CheckSchedule(const Config& config, const ConfigValue& value, const std::string& place) {
  const auto schedule = As<ConfigSchedule>(value);
  if (!schedule) return {};
  if (!schedule->steps && !config.run().steps)
    return InvalidArgument(place +
                           "a schedule without a horizon; write steps = N in it, or set run.steps");
  if (schedule->shape == "exponential" && !(schedule->from > 0 && schedule->to > 0))
    return InvalidArgument(
        place + "an exponential schedule needs from and to above 0; choose shape = \"linear\"");
  return {};
}

template <typename S>
Status CheckSchedules(const Config& config, const Keys<S>& keys, const std::string& model) {
  const SectionView view = keys.View(config.entries(), model);
  for (const ConfigRule& rule : keys.rules())
    MURMURATE_RETURN_IF_ERROR(
        CheckSchedule(config, view[rule.key].value,
                      view[rule.key].origin + ": " + rule.section + '.' + rule.key + ": "));
  return {};
}

/// Threads share a recurrent model's minibatch by whole trajectories.
Status CheckThreads(const SectionView& keys, const AlgorithmSettings& algorithm, bool recurs) {
  const int length = algorithm.trajectory_length, threads = algorithm.threads;
  const int lanes = std::max(1, algorithm.minibatch / length);
  if (threads <= lanes || !recurs) return {};
  return keys.RefuseOwn(
      "threads",
      "at most " + std::to_string(lanes) + ", because the model recurs and a minibatch of " +
          std::to_string(algorithm.minibatch) + " steps has that many trajectories of " +
          std::to_string(length) + "; write threads = " + std::to_string(lanes) +
          ", or minibatch = " + std::to_string(threads * length),
      "threads");
}

Status CheckBurnIn(const SectionView& keys, const AlgorithmSettings& algorithm, bool recurs,
                   const std::string& model) {
  const bool sequences = algorithm.kind->sequences;
  const int length = sequences ? algorithm.replay.sequence : algorithm.trajectory_length;
  if (algorithm.burn_in >= length)
    return keys.RefuseOwn(
        "burn_in",
        std::string("less than ") + (sequences ? "replay.sequence (" : "trajectory_length (") +
            std::to_string(length) + "), or no step is learned from; write for example burn_in = " +
            std::to_string(length / 4),
        "burn_in");
  if (algorithm.burn_in == 0 || recurs) return {};
  return keys.RefuseOwn("burn_in",
                        "0, because " + (model.empty() ? "the model" : "model " + model) +
                            " does not recur and has no state to warm; write recurrent = \"lstm "
                            "128\" in its section, or burn_in only in [model.NAME.algorithm] of a "
                            "model that recurs",
                        "burn_in");
}

/// Checks schedules and recurrence.
Status CheckModel(const Config& config, const std::string& model) {
  MURMURATE_RETURN_IF_ERROR(CheckSchedules(config, AlgorithmKeys(), model));
  MURMURATE_RETURN_IF_ERROR(CheckSchedules(config, OptimizerKeys(), model));
  const SectionView keys = ModelKeys().View(config.entries(), model);
  const ModelConfig words = WordsFor(config, model);
  if (!words.recurrent.empty()) {
    const Result<Layer> layer = Layer::Parse(words.recurrent);
    if (!layer.ok() || !layer->recurrent())
      return keys.RefuseOwn("recurrent",
                            "\"lstm UNITS\" or \"gru UNITS\"; write for example recurrent = \"lstm "
                            "128\"",
                            "recurrent");
  }
  const bool recurs = Recurs(words);
  if (keys.Given("keep_bias") && !recurs)
    return keys.BlameOwn("keep_bias",
                         "the model does not recur and has no state to keep; take the line "
                         "out, or write recurrent = \"gru 32\"");
  if (!words.separate_value.value_or(false) || !recurs) return {};
  return keys.RefuseOwn(
      "separate_value",
      "false, because the model recurs and no player carries the value's state; take "
      "the line out",
      "separate_value");
}

/// Checks batches, what has to fit into them, and rewards.
Status CheckBatch(const Config& config, const std::string& model) {
  const AlgorithmSettings algorithm = AlgorithmFor(config, model);
  const SectionView keys = AlgorithmKeys().View(config.entries(), model);
  const int steps = algorithm.batch_steps, length = algorithm.trajectory_length;
  if (steps % length != 0)
    return keys.RefuseOwn(
        "batch_steps",
        "a multiple of trajectory_length (" + std::to_string(length) +
            "); write for example batch_steps = " + std::to_string((steps / length + 1) * length),
        IsDefault(keys["batch_steps"]) ? "trajectory_length" : "batch_steps");
  if (algorithm.minibatch > steps && !algorithm.kind->replays)
    return keys.RefuseOwn("minibatch",
                          "at most batch_steps (" + std::to_string(steps) +
                              "); write for example minibatch = " + std::to_string(steps),
                          IsDefault(keys["minibatch"]) ? "batch_steps" : "minibatch");
  const bool recurs = Recurs(WordsFor(config, model));
  MURMURATE_RETURN_IF_ERROR(
      CheckThreads(ModelKeys().View(config.entries(), model), algorithm, recurs));
  MURMURATE_RETURN_IF_ERROR(CheckBurnIn(keys, algorithm, recurs, model));
  if (!algorithm.normalize_reward || algorithm.reward_scale == 1.0) return {};
  return keys.Refuse("reward_scale",
                     "1, because normalize_reward divides by the deviation of the scaled rewards "
                     "and leaves nothing of it; take one of the two out");
}

/// Checks where a stream listens, against the others, and the size of its answers.
Status CheckStreamListens(const Config& config, const StreamSettings& stream,
                          const std::vector<StreamSettings>& before) {
  if (stream.listen.empty()) return {};
  const std::string path = "stream." + stream.name + ".listen";
  const std::string place = config.entries().values.at(path).origin + ": " + path + ": ";
  if (const Status status = CheckListenAddress(config, stream.listen); !status.ok())
    return InvalidArgument(place + status.message());
  const auto taken = [&](const std::string& whose) {
    return InvalidArgument(place + whose + " listens on " + stream.listen +
                           "; choose another address for one of the two");
  };
  if (std::ranges::count(config.server().listen, stream.listen) > 0) return taken("server.listen");
  for (const StreamSettings& other : before)
    if (other.listen == stream.listen) return taken("[stream." + other.name + ']');
  constexpr std::size_t kMostNumbers = 4096;
  const ForecastSettings& forecast = stream.forecast;
  const std::size_t values = forecast.targets.size() * forecast.horizons.size();
  if (values * (1 + forecast.quantiles.size()) <= kMostNumbers) return {};
  return InvalidArgument(place + "an answer has a number for each target, horizon and quantile, " +
                         "expected at most " + std::to_string(kMostNumbers) +
                         "; forecast fewer horizons");
}

}  // namespace

Status CheckListen(const Config& config) {
  for (const std::string& address : config.server().listen) {
    if (address == "ipc") continue;
    if (const Status status = CheckListenAddress(config, address); !status.ok())
      return ServerKeys().View(config.entries()).Blame("listen", status);
  }
  return {};
}

Status CheckListenAddress(const Config& config, const std::string& address) {
  if (const auto family = SisterAddresses(address); !family.ok()) return family.status();
  if (IsLocalAddress(address) || config.server().insecure) return {};
  return InvalidArgument(
      address +
      " can be reached from other hosts, and without keys any program there could train or read "
      "the model; listen on 127.0.0.1 or ipc, or accept that with --insecure");
}

Status CheckEnvironment(const Config& config) {
  const SectionView keys = EnvironmentKeys().View(config.entries());
  const std::string& environment = config.run().environment;
  for (const EnvironmentOption& option : AllEnvironmentOptions())
    if (keys.Given(option.name) && !option.IsOf(environment))
      return keys.Blame(option.name,
                        std::string("only the environment \"") + option.environment +
                            "\" has it, and run.environment is " +
                            (environment.empty() ? "not set" : '"' + environment + '"') +
                            "; take the line out, or set run.environment");
  return {};
}

Status CheckSettings(const Config& config) {
  std::size_t count = 0;
  for (const auto& [path, entry] : config.entries().values) {
    if (!path.starts_with("settings.")) continue;
    const std::string place = entry.origin + ": " + path + ": ";
    MURMURATE_RETURN_IF_ERROR(CheckSchedule(config, entry.value, place));
    if (++count > wire::kMaxSettings)
      return InvalidArgument(place + "one too many, expected at most " +
                             std::to_string(wire::kMaxSettings) + " settings; take some out");
  }
  return {};
}

Status CheckModels(const Config& config) {
  for (const std::string& model : config.models()) {
    MURMURATE_RETURN_IF_ERROR(CheckModel(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckRefusals(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckReplay(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckOptimizer(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckStaleness(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckDualClip(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckBatch(config, model));
    MURMURATE_RETURN_IF_ERROR(CheckDevice(config, model));
  }
  return {};
}

Status CheckStream(const Config& config, const StreamSettings& stream,
                   const std::vector<StreamSettings>& before) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument(stream.origin + ": " + why);
  };
  MURMURATE_RETURN_IF_ERROR(CheckStreamListens(config, stream, before));
  if (config.Read(DataKeys()).given())
    return refuse(
        "a learner of files takes nothing else; take [data] out, or serve the stream by "
        "itself");
  if (config.parameters().hogwild())
    return refuse(
        "rule = \"hogwild\" of [parameters] has several threads that begin batches in "
        "any order, and a stream's are learned in theirs; take that line out");
  if (config.run().learners > 1)
    return refuse("each learner would read every message; take learners out of [run]");
  for (const StreamSettings& other : before)
    if (!stream.link.client_id.empty() && other.link.client_id == stream.link.client_id &&
        other.link.broker == stream.link.broker)
      return refuse("has the client_id of [stream." + other.name +
                    "], and a broker turns away the first of two clients of one name; choose "
                    "another");
  const auto model = ModelForStream(config, stream);
  if (model.ok()) return {};
  return refuse("its model cannot be made: " + model.status().message());
}

}  // namespace murmurate
