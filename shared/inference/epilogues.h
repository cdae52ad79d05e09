// What a layer's activation is to the kernels that apply it: for the client's policy and for the
// learner's network, which must mean the same by it.
#pragma once

#include "shared/compute/dense_kernels.h"
#include "shared/model/layer.h"

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

}  // namespace murmurate
