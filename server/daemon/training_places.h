// TrainingPlaces: where the models of a run are trained: on this processor, or on a device of their
// own. A device is opened when the daemon starts where a config names it, so that a run without it
// ends before anything is made of it; "auto" opens one only where arithmetic says that it may pay.
// On one thread at a time, which may be another later.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/config/model_settings.h"
#include "server/device/algorithm_book.h"
#include "server/device/choose_device.h"
#include "server/device/device_trainers.h"
#include "server/device/open_device.h"
#include "server/device/processor_rate.h"

namespace murmurate {

struct PlaceMakers {
  std::function<Result<std::unique_ptr<Device>>(const std::string& name, DevicePrecision precision,
                                                bool deterministic,
                                                std::shared_ptr<AlgorithmChoices> choices)>
      open = OpenDevice;
  std::function<Result<std::unique_ptr<BatchTrainer>>(const ModelSpec&, const AlgorithmSettings&,
                                                      std::shared_ptr<Device>,
                                                      std::unique_ptr<ParameterStore>)>
      make_trainer = MakeDeviceTrainer;
  ProcessorMeasures measures = {};
};

struct TrainingPlace {
  std::unique_ptr<BatchTrainer> trainer;
  std::shared_ptr<BatchMemory> memory = nullptr;  ///< of its batches; null: plain memory
  std::string sentence = "";                      ///< where and why; "": there was no choice
};

class TrainingPlaces {
 public:
  TrainingPlaces(Config config, PlaceMakers makers)
      : config_(std::move(config)), makers_(std::move(makers)) {}

  /// Opens each device that a section of the config names. kResource: the first that cannot be.
  Status OpenNamed();

  /// What a device's libraries compute by is kept in this run's folder, and read from there; before
  /// the first Make.
  void KeepAlgorithmsIn(const std::string& folder, const LogCallback& log) {
    algorithms_->Open(folder + "/device_plans.json", AlgorithmBook::UserFile(), log);
  }

  /// The place of a model; `store` makes what steps its parameters, null: nothing but the trainer.
  /// kResource: its device cannot be opened, or has too little memory.
  Result<TrainingPlace> Make(const std::string& model, const ModelSettings& settings,
                             const std::function<std::unique_ptr<ParameterStore>()>& store);

 private:
  Result<std::shared_ptr<Device>> Open(const DeviceSettings& settings);
  Result<TrainingPlace> MakeOn(const std::string& model, const ModelSettings& settings,
                               std::shared_ptr<Device> device,
                               std::unique_ptr<ParameterStore> store);
  std::shared_ptr<Device> OpenIfItPays(const std::string& model, const ModelSettings& settings,
                                       std::string* sentence);

  const Config config_;
  const PlaceMakers makers_;
  const std::shared_ptr<AlgorithmBook> algorithms_ = std::make_shared<AlgorithmBook>();
  std::vector<std::pair<DeviceSettings, std::shared_ptr<Device>>> opened_;  ///< not given away yet
};

/// What "auto" is to decide for a model before a device is opened; measures this processor, which
/// takes about 40 ms, and longer for large models: some calls of the policy.
DeviceQuestion AskDeviceOf(const Config& config, const std::string& model,
                           const ModelSettings& settings, const ProcessorMeasures& measures = {});

}  // namespace murmurate
