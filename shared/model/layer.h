// Layer: one step of a network in words. Its text form is a line of a model's text and an entry of
// a config's list of layers:
//
//   dense 64 tanh          y = activation(x W + b) on a vector
//   conv 32 8 4 0 relu     filters, kernel, stride, padding, activation; on a picture, NHWC
//   max_pool 3 2 1         kernel, stride, padding
//   flatten                picture -> vector
//   layer_norm             over the last axis, with gain and shift
//   relu                   an activation by itself: none tanh relu elu sigmoid
//   residual ... add       what came into `residual` is added to what comes to `add`
//   lstm 128, gru 128      a state that goes from step to step; in the trunk only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "shared/core/enum_names.h"

namespace murmurate {

enum class Activation : std::uint8_t { kNone, kTanh, kRelu, kElu, kSigmoid };

inline constexpr EnumName<Activation> kActivationNames[] = {{Activation::kTanh, "tanh"},
                                                            {Activation::kRelu, "relu"},
                                                            {Activation::kElu, "elu"},
                                                            {Activation::kSigmoid, "sigmoid"},
                                                            {Activation::kNone, "none"}};
constexpr std::span<const EnumName<Activation>> NamesOf(Activation) { return kActivationNames; }

struct Layer {
  enum class Kind : std::uint8_t {
    kDense,
    kConv,
    kMaxPool,
    kFlatten,
    kLayerNorm,
    kActivation,
    kResidual,
    kAdd,
    kLstm,
    kGru,
  };
  int units = 0;  ///< kDense, kLstm, kGru; kConv: filters
  Activation activation = Activation::kNone;
  Kind kind = Kind::kDense;
  int kernel = 0, stride = 0, padding = 0;  ///< kConv, kMaxPool

  bool recurrent() const { return kind == Kind::kLstm || kind == Kind::kGru; }
  std::string ToText() const;
  /// `text` in full, as ToText writes it; with `usual`, a config may leave out what is usual:
  /// padding 0, and this activation. The status says which form was expected.
  static Result<Layer> Parse(std::string_view text, const Activation* usual = nullptr);
  friend bool operator==(const Layer&, const Layer&) = default;
};

}  // namespace murmurate
