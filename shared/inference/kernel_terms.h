// A planned layer in the kernels' terms: its activation as an epilogue, its window, its recurrent
// cell. The client's policy and the learner's network share these, so both compute the same.
#pragma once

#include "shared/compute/dense_kernels.h"
#include "shared/compute/recurrent.h"
#include "shared/compute/window.h"
#include "shared/model/network_plan.h"

namespace murmurate {

inline Epilogue ForwardEpilogue(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return Epilogue::kTanh;
    case Activation::kRelu:
      return Epilogue::kRelu;
    case Activation::kElu:
      return Epilogue::kElu;
    case Activation::kSigmoid:
      return Epilogue::kSigmoid;
    case Activation::kNone:
      break;
  }
  return Epilogue::kNone;
}

/// Multiplies a gradient by the activation's slope at its output.
inline Epilogue GradientEpilogue(Activation activation) {
  switch (activation) {
    case Activation::kTanh:
      return Epilogue::kTanhGradient;
    case Activation::kRelu:
      return Epilogue::kReluGradient;
    case Activation::kElu:
      return Epilogue::kEluGradient;
    case Activation::kSigmoid:
      return Epilogue::kSigmoidGradient;
    case Activation::kNone:
      break;
  }
  return Epilogue::kNone;
}

/// The window of a convolution or a pool.
inline Window WindowOf(const PlannedLayer& planned) {
  const Layer& layer = planned.layer;
  return {planned.in.height,
          planned.in.width,
          planned.in.channels,
          {layer.kernel, layer.kernel},
          {layer.stride, layer.stride},
          {layer.padding, layer.padding}};
}

/// The cell of a recurrent layer.
inline const RecurrentCell& CellOf(Layer::Kind kind) {
  return kind == Layer::Kind::kLstm ? kLstmCell : kGruCell;
}

}  // namespace murmurate
