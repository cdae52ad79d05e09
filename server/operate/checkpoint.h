// Checkpoint: a model's weights as files that other tools open, ordered by step.
//
//   checkpoints/step-000000123456/weights.safetensors
//   checkpoints/latest -> step-000000123456
//
// Written whole or not at all: into .tmp-*, each file and the folder synced, renamed, the parent
// synced, and only then `latest` is renamed over.
#pragma once

#include <string>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// `directory`: the run's (or the model's) folder. The path of the checkpoint's folder.
Result<std::string> WriteCheckpoint(const std::string& directory, const WeightsFile& weights);

/// The newest weights of a run, through `latest`; kInvalidData says what is missing and what to do.
Result<WeightsFile> ReadLatestCheckpoint(const std::string& directory);

}  // namespace murmurate
