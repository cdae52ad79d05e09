#include "server/daemon/training_places.h"

#include <algorithm>
#include <thread>

#include "server/data/data_settings.h"
#include "server/device/pinned_memory.h"
#include "server/learn/algorithm.h"
#include "server/learn/host_trainer.h"
#include "server/stream/config_stream.h"

namespace murmurate {
namespace {

TrainingPlace OnProcessor(const ModelSettings& settings, std::unique_ptr<ParameterStore> store,
                          const std::string& sentence) {
  return {std::make_unique<HostTrainer>(settings.spec, settings.algorithm, std::move(store)),
          nullptr, sentence};
}

std::string Prefix(const std::string& model) {
  return "model " + model + ": device = \"auto\" chooses ";
}

}  // namespace

DeviceQuestion AskDeviceOf(const Config& config, const std::string& model,
                           const ModelSettings& settings, const ProcessorMeasures& measures) {
  DeviceQuestion question;
  question.work = WorkOf(settings.spec, settings.algorithm);
  question.processor = SpeedOfProcessor(measures.flops_a_second() * settings.algorithm.threads);
  question.gpu = SpeedOfGpu(kMostMultiprocessors, settings.device.precision);
  question.gpu_name = "a large GPU";
  if (const auto steps = config.run().steps)
    question.batches = static_cast<double>(*steps) / question.work.batch_steps;
  if (config.data().given() || config.StreamOf(model) != nullptr) return question;
  const auto players = std::min(static_cast<double>(std::max(1, config.run().actors)),
                                static_cast<double>(std::thread::hardware_concurrency()));
  const double act_s = measures.act_s(settings.spec) / std::max(1.0, players);
  question.play_assumed = act_s * kAssumedStepsASecond < 1.0;
  question.play_s = question.work.batch_steps * std::max(act_s, 1.0 / kAssumedStepsASecond);
  return question;
}

Result<std::shared_ptr<Device>> TrainingPlaces::Open(const DeviceSettings& settings) {
  const auto same = std::ranges::find(opened_, settings, [](const auto& one) { return one.first; });
  if (same != opened_.end()) {
    auto device = std::move(same->second);
    opened_.erase(same);
    return device;
  }
  auto device = makers_.open(settings.name, settings.precision, settings.deterministic,
                             settings.tune ? algorithms_ : nullptr);
  if (!device.ok()) return device.status();
  return std::shared_ptr<Device>(*std::move(device));
}

Status TrainingPlaces::OpenNamed() {
  for (const std::string& model : config_.models()) {
    const DeviceSettings settings = config_.Read(ModelKeys(), model).device;
    const auto same = [&](const auto& one) { return one.first == settings; };
    if (!settings.gpu() || std::ranges::any_of(opened_, same)) continue;
    auto device = Open(settings);
    if (!device.ok()) return device.status();
    opened_.emplace_back(settings, *std::move(device));
  }
  return {};
}

Result<TrainingPlace> TrainingPlaces::MakeOn(const std::string& model,
                                             const ModelSettings& settings,
                                             std::shared_ptr<Device> device,
                                             std::unique_ptr<ParameterStore> store) {
  auto trainer = makers_.make_trainer(settings.spec, settings.algorithm, device, std::move(store));
  if (!trainer.ok())
    return Status(trainer.status().code(), "model " + model + ": " + trainer.status().message());
  const DeviceDescription found = device->description();
  std::string sentence = "model " + model + ": is trained on " + InWords(settings.device) +
                         (found.name.empty() ? "" : " (" + found.name + ')');
  if (found.arithmetic.pictures != ArithmeticOf(settings.device.precision).pictures)
    sentence += ", which has no bf16: pictures and factors of products have 32 bits";
  return TrainingPlace{*std::move(trainer), PinnedMemory::Of(std::move(device)), sentence};
}

/// Null: the processor, as `sentence` says.
std::shared_ptr<Device> TrainingPlaces::OpenIfItPays(const std::string& model,
                                                     const ModelSettings& settings,
                                                     std::string* sentence) {
  DeviceQuestion question = AskDeviceOf(config_, model, settings, makers_.measures);
  DeviceChoice choice = ChooseDevice(question);
  *sentence = Prefix(model) + choice.sentence;
  if (!choice.gpu) return nullptr;
  DeviceSettings first = settings.device;
  first.name = "cuda:0";
  auto device = Open(first);
  if (!device.ok()) {
    *sentence = Prefix(model) + "cpu, though a GPU would pay: " + device.status().message();
    return nullptr;
  }
  const DeviceDescription found = (*device)->description();
  question.gpu_name = first.name;
  if (found.multiprocessors > 0)
    question.gpu = SpeedOfGpu(found.multiprocessors, settings.device.precision);
  choice = ChooseDevice(question);
  *sentence = Prefix(model) + choice.sentence;
  const std::size_t need = MeasureDeviceMemory(settings.spec, settings.algorithm,
                                               !settings.remote.has_value(), found.arithmetic)
                               .total;
  if (choice.gpu && found.free_bytes > 0 && need > found.free_bytes) {
    *sentence = Prefix(model) + "cpu, though a GPU would pay: " + found.name + " has " +
                std::to_string(found.free_bytes >> 20) + " MiB free, and " +
                std::to_string(need >> 20) + " MiB are needed";
    return nullptr;
  }
  return choice.gpu ? *std::move(device) : nullptr;
}

Result<TrainingPlace> TrainingPlaces::Make(
    const std::string& model, const ModelSettings& settings,
    const std::function<std::unique_ptr<ParameterStore>()>& store) {
  if (settings.device.processor()) return OnProcessor(settings, store(), "");
  if (settings.device.gpu()) {
    auto device = Open(settings.device);
    if (!device.ok()) return device.status();
    return MakeOn(model, settings, *std::move(device), store());
  }
  if (const Status trains = CheckDeviceTrains(settings.spec, settings.algorithm); !trains.ok())
    return OnProcessor(settings, store(), Prefix(model) + "cpu: " + trains.message());
  std::string sentence;
  auto device = OpenIfItPays(model, settings, &sentence);
  if (device == nullptr) return OnProcessor(settings, store(), sentence);
  auto place = MakeOn(model, settings, std::move(device), store());
  if (place.ok()) {
    place->sentence = sentence;
    return place;
  }
  return OnProcessor(settings, store(),
                     Prefix(model) + "cpu, though a GPU would pay: " + place.status().message());
}

}  // namespace murmurate
