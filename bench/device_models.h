// The training steps that docs/performance.md has a row for: the same models, minibatches and
// settings as python/bench/torch_step.py has.
#pragma once

#include <string>
#include <vector>

#include "server/compute/device/device.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct DeviceStepRow {
  std::string name;  ///< "nature-cnn/1024": the model and its minibatch
  ModelSpec spec;
  AlgorithmSettings settings;  ///< a batch is one minibatch, gone over settings.epochs times
  DevicePrecision precision = DevicePrecision::kFp32;
};

/// `small`: minibatches of 16 and of 4 pictures, whatever the name says.
std::vector<DeviceStepRow> DeviceStepRows(bool small);

/// 96-1024-1536-8: 6.7 MB are published.
ModelSpec PublishedModel(bool small);
/// 100 million numbers in two dense layers.
ModelSpec ManyNumbersModel(bool small);

}  // namespace murmurate
