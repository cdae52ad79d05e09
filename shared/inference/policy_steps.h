// LayerOp: what a client does for one kind of layer: the second place of three that know a kind
// (shared/model/layer_kinds.h names them).
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/inference/packed_steps.h"

namespace murmurate {

/// Rows of numbers on their way through the steps; `bytes` instead of x only before a layer that
/// takes them.
struct Flow {
  const float* x = nullptr;
  const std::uint8_t* bytes = nullptr;
  std::ptrdiff_t stride = 0;  ///< elements from one row to the next

  /// Copies `count` numbers of each of `rows` rows.
  void Copy(int rows, int count, float* to, std::ptrdiff_t to_stride) const;
};

/// A pass over a few rows, at one of its steps; every block lies in the caller's scratch.
struct StepCall {
  const PackedSteps& steps;
  int rows;
  float* states;             ///< of these rows' agents; null for a model that carries none
  float* kept = nullptr;     ///< what came into the open residual block
  float* scratch = nullptr;  ///< of ScratchFloats
  Flow in = {};              ///< contiguous, unless the kind takes rows apart
  float* out = nullptr;      ///< [rows][step.outputs]
};

struct LayerOp {
  Layer::Kind kind;
  /// None: a row stays as it lies.
  void (*run)(const PolicyStep& step, const StepCall& call) = nullptr;
  std::size_t (*scratch_floats)(const PolicyStep& step, int rows) = nullptr;  ///< none: 0
  bool passes = false;  ///< what came flows on, nothing is written to `out`
};
const LayerOp& OpOf(Layer::Kind kind);

}  // namespace murmurate
