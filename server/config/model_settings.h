// ModelSettings: everything that makes a model of given spaces and teaches it, from [model],
// [algorithm], [optimizer] and [parameters].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/config/initial_weights.h"
#include "server/device/device_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_settings.h"
#include "server/network/actor_critic.h"
#include "server/parameters/hogwild_store.h"
#include "server/parameters/remote_store.h"
#include "server/schema/model_config.h"
#include "server/schema/settings_keys.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct ModelSettings : AssemblySettings {
  ModelSpec spec;
  AlgorithmSettings algorithm;
  Initialization beginning;
  InitialFile initial_file;
  DeviceSettings device;
  std::optional<RemoteSettings> remote;    ///< of a worker of a parameter server
  std::optional<HogwildSettings> hogwild;  ///< of threads that step one block of parameters
};

/// ModelSection is [model].
struct ModelSection {
  ModelConfig words{.normalize_observation = true, .continuous = {.scaled = true}};
  Initialization beginning;
  std::string initialize_from, initialize_map;
  TensorLayout initialize_layout = TensorLayout::kAuto;
  int threads = 1;
  DeviceSettings device;
};

const Keys<ModelSection>& ModelKeys();

/// The words of a model; what its algorithm does not learn is left out, unless the config asks for
/// it.
ModelConfig WordsFor(const Config& config, const std::string& model);
AlgorithmSettings AlgorithmFor(const Config& config, const std::string& model);

/// The settings of the model that an actor named; the status says where in the config lies what
/// does not suit these spaces.
Result<ModelSettings> ModelFor(const Config& config, const std::string& model,
                               const Spaces& spaces);
Result<ModelSettings> ModelForStream(const Config& config, const StreamSettings& stream);
/// The settings that a shard and its workers must have in common; `model` "": in general.
ShardSettings ShardSettingsFor(const Config& config, const std::string& model = "");
/// The files that initialize_from names, in general and in the sections of single models.
std::vector<InitialFile> InitialFilesOf(const Config& config);

}  // namespace murmurate
