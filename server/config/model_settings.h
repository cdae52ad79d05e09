// ModelSettings: everything that makes a model of given spaces and teaches it, from [model],
// [algorithm], [optimizer] and [parameters].
#pragma once

#include <optional>
#include <string>

#include "server/config/config.h"
#include "server/config/initial_weights.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_settings.h"
#include "server/network/actor_critic.h"
#include "server/parameters/hogwild_store.h"
#include "server/parameters/remote_store.h"
#include "server/schema/model_words.h"
#include "server/schema/settings_keys.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct ModelSettings : AssemblySettings {
  ModelSpec spec;
  AlgorithmSettings algorithm;
  Initialization beginning;
  InitialFile initial_file;
  std::optional<RemoteSettings> remote;    ///< of a worker of a parameter server
  std::optional<HogwildSettings> hogwild;  ///< of threads that step one block of parameters
};

/// [model].
struct ModelSection {
  ModelWords words{.normalize_observation = true, .continuous = {.scaled = true}};
  Initialization beginning;
  std::string initialize_from;
  int threads = 1;
};

const Keys<ModelSection>& ModelKeys();

/// What an algorithm does not learn is left out, unless the config asks for it.
ModelWords WordsFor(const Config& config, const std::string& model);
AlgorithmSettings AlgorithmFor(const Config& config, const std::string& model);

}  // namespace murmurate
