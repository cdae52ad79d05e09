#include "server/device/device_trainers.h"

#include <algorithm>
#include <utility>

#include "server/device/device_replay_trainer.h"
#include "server/device/device_trainer.h"
#include "server/learn/squashed_numbers.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr const char* kRemedy = "; write device = \"cpu\"";

bool OfReplay(const AlgorithmSettings& settings) {
  return settings.kind->loss(settings).of_replay();
}

/// One network with a value for each choice, and its target.
bool OfPlainChoices(const ModelSpec& spec) {
  return spec.networks.size() == 2 && spec.networks[0].outputs == 0 &&
         spec.networks[1].follows == spec.networks[0].name;
}

DeviceMemoryNeed NeedOf(const DeviceMemory& memory) {
  DeviceMemoryNeed need{.total = memory.bytes()};
  for (int i = 0; i < kMemoryPurposes; ++i)
    need.by_purpose[i] = memory.bytes(static_cast<MemoryPurpose>(i));
  return need;
}

}  // namespace

Status CheckDeviceTrains(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const std::string& name = settings.kind->name;
  if (settings.kind->loss == nullptr)
    return InvalidArgument(name + " is trained on the processor only" + kRemedy);
  const LossForm form = settings.kind->loss(settings);
  if (form.kind == LossForm::Kind::kChoiceValues && !OfPlainChoices(spec))
    return InvalidArgument("a GPU trains " + name +
                           " with one network of one value for each choice, and this model has "
                           "others" +
                           kRemedy);
  if (form.kind == LossForm::Kind::kSoftNumbers &&
      !SquashedNumbers::Fits(ActionLayout(spec.spaces.action, spec.continuous)))
    return InvalidArgument("a GPU trains " + name +
                           " with actions of numbers, and these are choices" + kRemedy);
  return {};
}

DeviceMemoryNeed MeasureDeviceMemory(const ModelSpec& spec, const AlgorithmSettings& settings,
                                     bool steps_here, const DeviceArithmetic& arithmetic) {
  if (OfReplay(settings)) return NeedOf(DeviceReplayEngine(spec, settings, arithmetic).memory());
  const StepPlace place = steps_here ? StepPlace::kHere : StepPlace::kElsewhere;
  return NeedOf(DeviceEngine(spec, settings, place, arithmetic).memory());
}

Result<std::unique_ptr<BatchTrainer>> MakeDeviceTrainer(const ModelSpec& spec,
                                                        const AlgorithmSettings& settings,
                                                        std::shared_ptr<Device> device,
                                                        std::unique_ptr<ParameterStore> store) {
  MURMURATE_RETURN_IF_ERROR(CheckDeviceTrains(spec, settings));
  if (!OfReplay(settings))
    return DeviceTrainer::Make(spec, settings, std::move(device), std::move(store));
  if (store != nullptr)
    return InvalidArgument("several learners of " + settings.kind->name +
                           " are trained on processors only" + kRemedy);
  return DeviceReplayTrainer::Make(spec, settings, std::move(device));
}

}  // namespace murmurate
