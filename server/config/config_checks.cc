// What a Config refuses that no single key shows.
#include <algorithm>

#include "server/config/config.h"
#include "server/schema/config_rules.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"
#include "shared/wire/limits.h"

namespace murmurate {

Status Config::CheckListen() const {
  const std::string& origin = Get("server", "listen").origin;
  for (const std::string& address : server_.listen) {
    if (address == "ipc") continue;
    if (const Status status = CheckListenAddress(address); !status.ok())
      return InvalidArgument(origin + ": server.listen: " + status.message());
  }
  return {};
}

Status Config::CheckListenAddress(const std::string& address) const {
  if (const auto family = SisterAddresses(address); !family.ok()) return family.status();
  if (IsLocalAddress(address) || server_.insecure) return {};
  return InvalidArgument(
      address +
      " can be reached from other hosts, and without keys anybody there could train or read "
      "the model; listen on 127.0.0.1 or ipc, or accept that with --insecure");
}

Status Config::CheckEnvironment() const {
  for (const EnvironmentOption& option : AllEnvironmentOptions()) {
    const ConfigEntry& entry = Get("environment", option.name);
    if (std::holds_alternative<std::monostate>(entry.value)) continue;
    if (option.IsOf(run_.environment)) continue;
    return InvalidArgument(entry.origin + ": environment." + option.name +
                           ": only the environment \"" + option.environment +
                           "\" has it, and run.environment is " +
                           (run_.environment.empty() ? "not set" : '"' + run_.environment + '"') +
                           "; take the line out, or set run.environment");
  }
  return {};
}

Status Config::CheckSchedules(const std::string& model) const {
  for (const ConfigRule& rule : ConfigRules())
    if (rule.kind == ValueKind::kSchedule)
      MURMURATE_RETURN_IF_ERROR(
          CheckSchedule(Get(rule.section, rule.key, model), rule.section + '.' + rule.key));
  return {};
}

/// `path`: as a message names it.
Status Config::CheckSchedule(const ConfigEntry& entry, const std::string& path) const {
  const auto schedule = As<ConfigSchedule>(entry.value);
  if (!schedule) return {};
  if (!schedule->steps && !run_.steps)
    return InvalidArgument(
        entry.origin + ": " + path +
        ": a schedule without a horizon; write steps = N in it, or set run.steps");
  if (schedule->shape == "exponential" && !(schedule->from > 0 && schedule->to > 0))
    return InvalidArgument(
        entry.origin + ": " + path +
        ": an exponential schedule needs from and to above 0; choose shape = \"linear\"");
  return {};
}

Status Config::CheckSettings() const {
  std::size_t count = 0;
  for (const auto& [path, entry] : entries_.values) {
    if (!path.starts_with("settings.")) continue;
    MURMURATE_RETURN_IF_ERROR(CheckSchedule(entry, path));
    if (++count > wire::kMaxSettings)
      return InvalidArgument(entry.origin + ": " + path + ": one too many, expected at most " +
                             std::to_string(wire::kMaxSettings) + " settings; take some out");
  }
  return {};
}

Status Config::CheckRecurrence(const std::string& model) const {
  const ConfigEntry& entry = Get("model", "recurrent", model);
  if (const auto words = As<std::string>(entry.value)) {
    const Result<Layer> layer = Layer::Parse(*words);
    if (!layer.ok() || !layer->recurrent())
      return InvalidArgument(entry.origin + ": " + PathOf("model", "recurrent", model) +
                             ": got \"" + *words +
                             "\", expected \"lstm UNITS\" or \"gru UNITS\"; write for example "
                             "recurrent = \"lstm 128\"");
  }
  const ConfigEntry& keep = Get("model", "keep_bias", model);
  if (As<double>(keep.value) && !Recurs(WordsFor(model)))
    return InvalidArgument(keep.origin + ": " + PathOf("model", "keep_bias", model) +
                           ": the model does not recur and has no state to keep; take the line "
                           "out, or write recurrent = \"gru 32\"");
  const ConfigEntry& separate = Get("model", "separate_value", model);
  if (!As<bool>(separate.value).value_or(false) || !Recurs(WordsFor(model))) return {};
  return InvalidArgument(separate.origin + ": " + PathOf("model", "separate_value", model) +
                         ": got true, expected false, because the model recurs and nobody holds a "
                         "critic's state; take the line out");
}

Status Config::CheckBatch(const std::string& model) const {
  const int length = AsInt(Get("algorithm", "trajectory_length", model).value);
  const ConfigEntry& batch = Get("algorithm", "batch_steps", model);
  const ConfigEntry& minibatch = Get("algorithm", "minibatch", model);
  const int steps = AsInt(batch.value);
  if (steps % length != 0) {
    const ConfigEntry& blame =
        batch.origin.starts_with("default") ? Get("algorithm", "trajectory_length", model) : batch;
    return InvalidArgument(
        blame.origin + ": " + PathOf("algorithm", "batch_steps", model) + ": got " +
        std::to_string(steps) + ", expected a multiple of trajectory_length (" +
        std::to_string(length) +
        "); write for example batch_steps = " + std::to_string((steps / length + 1) * length));
  }
  if (AsInt(minibatch.value) > steps) {
    const ConfigEntry& blame = minibatch.origin.starts_with("default") ? batch : minibatch;
    return InvalidArgument(blame.origin + ": " + PathOf("algorithm", "minibatch", model) +
                           ": got " + std::to_string(AsInt(minibatch.value)) +
                           ", expected at most batch_steps (" + std::to_string(steps) +
                           "); write for example minibatch = " + std::to_string(steps));
  }
  MURMURATE_RETURN_IF_ERROR(CheckThreads(model));
  return CheckBurnIn(model);
}

/// Threads share a recurrent model's minibatch by whole trajectories.
Status Config::CheckThreads(const std::string& model) const {
  const ConfigEntry& entry = Get("model", "threads", model);
  const int length = AsInt(Get("algorithm", "trajectory_length", model).value);
  const int minibatch = AsInt(Get("algorithm", "minibatch", model).value);
  const int lanes = std::max(1, minibatch / length), threads = AsInt(entry.value);
  if (threads <= lanes || !Recurs(WordsFor(model))) return {};
  return InvalidArgument(entry.origin + ": " + PathOf("model", "threads", model) + ": got " +
                         std::to_string(threads) + ", expected at most " + std::to_string(lanes) +
                         ", because the model recurs and a minibatch of " +
                         std::to_string(minibatch) + " steps has that many trajectories of " +
                         std::to_string(length) + "; write threads = " + std::to_string(lanes) +
                         ", or minibatch = " + std::to_string(threads * length));
}

Status Config::CheckBurnIn(const std::string& model) const {
  const ConfigEntry& entry = Get("algorithm", "burn_in", model);
  const int burn_in = AsInt(entry.value);
  const int length = AsInt(Get("algorithm", "trajectory_length", model).value);
  const std::string got = entry.origin + ": " + PathOf("algorithm", "burn_in", model) + ": got " +
                          std::to_string(burn_in) + ", expected ";
  if (burn_in >= length)
    return InvalidArgument(
        got + "less than trajectory_length (" + std::to_string(length) +
        "), or no step is learned from; write for example burn_in = " + std::to_string(length / 4));
  if (burn_in == 0 || Recurs(WordsFor(model))) return {};
  return InvalidArgument(got + "0, because " + (model.empty() ? "the model" : "model " + model) +
                         " does not recur and has no state to warm; write recurrent = \"lstm "
                         "128\" in its section, or burn_in only in [model.NAME.algorithm] of a "
                         "model that recurs");
}

Status Config::CheckRewards(const std::string& model) const {
  const ConfigEntry& scale = Get("algorithm", "reward_scale", model);
  const bool normalized = *As<bool>(Get("algorithm", "normalize_reward", model).value);
  if (!normalized || *As<double>(scale.value) == 1.0) return {};
  return InvalidArgument(scale.origin + ": " + PlaceOf("algorithm", "reward_scale", model) +
                         ": got " + ToToml(scale.value) +
                         ", expected 1, because normalize_reward divides by the deviation of the "
                         "scaled rewards and leaves nothing of it; take one of the two out");
}

}  // namespace murmurate
