// Layer: one step of a network in words (layer_kinds.h lists the kinds). Its text form is a line of
// a model's text and an entry of a config's list of layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "shared/core/enum_names.h"
#include "shared/model/layer_kinds.h"

namespace murmurate {

enum class Activation : std::uint8_t { kNone, kTanh, kRelu, kElu, kSigmoid };

inline constexpr EnumName<Activation> kActivationNames[] = {{Activation::kTanh, "tanh"},
                                                            {Activation::kRelu, "relu"},
                                                            {Activation::kElu, "elu"},
                                                            {Activation::kSigmoid, "sigmoid"},
                                                            {Activation::kNone, "none"}};
constexpr std::span<const EnumName<Activation>> NamesOf(Activation) { return kActivationNames; }

struct Layer {
  using Kind = LayerKind;

  int units = 0;  ///< of a convolution: filters
  Activation activation = Activation::kNone;
  Kind kind = Kind::kDense;
  int kernel = 0, stride = 0, padding = 0;  ///< of a window

  const LayerForm& form() const { return FormOf(kind); }
  bool recurrent() const { return form().gates > 0; }
  std::string ToText() const;
  /// `text` in full, as ToText writes it; with `usual`, a config may leave out what is usual:
  /// padding 0, and this activation. The status says which form was expected.
  static Result<Layer> Parse(std::string_view text, const Activation* usual = nullptr);
  friend bool operator==(const Layer&, const Layer&) = default;
};

}  // namespace murmurate
