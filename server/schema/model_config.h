// ModelConfig: how a config describes a model, and the spec that it makes for an actor's spaces.
//
//   [model]
//   trunk = "nature_cnn"      what encodes pictures: mlp (nothing), nature_cnn, impala_cnn;
//                             auto: nature_cnn from 36 x 36 on, one conv 16 3 1 1 for less
//   layers = [512]            of the trunk: units of dense layers, or layers in words
//   inputs = ["camera: conv 16 3 1 1", "camera: flatten", "speed: dense 32 tanh"]
//   recurrent = "lstm 128"    on top of the trunk
//   frame_stack = 4
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/model/model_spec.h"

namespace murmurate {

struct ModelConfig {
  std::string trunk = "auto";
  /// Layer::Parse with the usual activation. Unset: [512] after nature_cnn (Mnih et al. 2015),
  /// [256] after impala_cnn (Espeholt et al. 2018, its deep network), otherwise [64, 64].
  std::optional<std::vector<std::string>> layers = {};
  /// "NAME: LAYER", in order; an input that has some is not encoded by `trunk`.
  std::vector<std::string> inputs = {};
  std::optional<Activation> activation =
      {};  ///< the usual one. Unset: relu where pictures are encoded, otherwise tanh
  std::string recurrent = {};  ///< "lstm UNITS", "gru UNITS", or empty
  int frame_stack = 1;         ///< of pictures; of all numbers when there are none
  /// Unset: with a privileged observation, or unless it recurs or sees pictures.
  std::optional<bool> separate_value = {};
  bool normalize_observation = false;
  PreviousInputs previous = {};
  ContinuousSettings continuous = {};  ///< scaled: where there is a box to scale to
};

/// Whether a layer that recurs is among the words.
bool Recurs(const ModelConfig& words);

/// The status says which layer does not fit and why (CheckModel).
Result<ModelSpec> MakeSpec(const ModelConfig& words, const Spaces& spaces);

}  // namespace murmurate
