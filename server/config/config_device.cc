// [model] device and what goes with it.
#include "server/config/algorithm_defaults.h"
#include "server/config/config_checks.h"
#include "server/config/model_settings.h"
#include "server/learn/algorithm.h"
#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"

namespace murmurate {
namespace {

/// The most rows whose places have a number of 32 bits, with those beside the ring.
constexpr std::uint64_t kMostDeviceRows = 2'000'000'000;

/// [replay] memory = "device".
Status CheckReplayMemory(const Config& config, const std::string& model) {
  const SectionView keys = ReplayKeys().View(config.entries(), model);
  const ReplaySettings replay = ReplayKeys().Read(keys).replay;
  if (replay.memory == RowMemory::kHost) return {};
  if (config.Read(ModelKeys(), model).device.processor())
    return keys.Refuse("memory",
                       "\"host\", because device of [model] is \"cpu\"; take the line out, or "
                       "write device = \"cuda:0\"");
  if (replay.demonstration_share > 0.0)
    return keys.Refuse("memory",
                       "\"host\", because demonstration_share keeps demonstrations apart, on this "
                       "host; take one of the two lines out");
  if (replay.capacity > kMostDeviceRows)
    return keys.Refuse("capacity",
                       "at most 2000000000 with memory = \"device\"; lower it, or take memory out");
  return {};
}

}  // namespace

Status CheckDevice(const Config& config, const std::string& model) {
  const SectionView keys = ModelKeys().View(config.entries(), model);
  const ModelSection section = config.Read(ModelKeys(), model);
  const DeviceSettings& device = section.device;
  if (!IsDeviceName(device.name))
    return keys.Refuse("device",
                       "\"cpu\", \"cuda\", \"cuda:N\" with the number of a GPU (the first is 0), "
                       "or \"auto\"; write for example device = \"cuda:0\"");
  MURMURATE_RETURN_IF_ERROR(CheckReplayMemory(config, model));
  const bool others_use_it = !config.Read(ModelKeys()).device.processor();
  if (device.processor() && others_use_it) return {};
  if (device.processor())
    return keys.NoneOf({"precision", "deterministic", "tune"},
                       "only a GPU has it, and device is \"cpu\"; take it out, or write device = "
                       "\"cuda:0\"");
  if (config.parameters().hogwild())
    return keys.Refuse("device",
                       "\"cpu\", because rule = \"hogwild\" of [parameters] is threads of this "
                       "processor that step one block; take one of the two lines out");
  const AlgorithmKind& kind = KindFor(config.entries(), model);
  if (device.gpu() && kind.loss == nullptr)
    return keys.Refuse("device", "\"cpu\", because " + kind.name +
                                     " is trained on the processor only; take the line out, or "
                                     "write device = \"auto\"");
  const ParametersSettings parameters = config.parameters();
  if (device.gpu() && kind.replays && (parameters.shared() || !parameters.collective.empty()))
    return keys.Refuse("device", "\"cpu\", because several learners of " + kind.name +
                                     " are trained on processors only; take the line out, or take "
                                     "[parameters] out");
  if (device.gpu() && section.threads > 1)
    return keys.Refuse("threads",
                       "1, because a GPU computes the minibatches; take the line out, or write "
                       "device = \"auto\", which uses threads where it stays on the processor");
  return {};
}

}  // namespace murmurate
