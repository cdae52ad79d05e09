// FlatModel: a model's parameters with the layout that says where each tensor lies.
#pragma once

#include <span>
#include <string_view>

#include "shared/model/parameter_layout.h"
#include "shared/model/weights_file.h"

namespace murmurate {

struct FlatModel {
  /// Reads `file` for as long as it lives.
  explicit FlatModel(const WeightsFile& file)
      : spec(file.spec), layout(file.spec), parameters(file.parameters) {}

  /// The numbers of a tensor of the layout.
  std::span<const float> Of(std::string_view tensor) const {
    const TensorSlot& slot = layout.Find(tensor);
    return parameters.subspan(slot.offset, slot.count);
  }

  const ModelSpec& spec;
  const ParameterLayout layout;
  const std::span<const float> parameters;
};

}  // namespace murmurate
