// WeightsMatch: the tensors of a safetensors file, from any source, that a new model can begin
// with.
//
// A tensor is taken when name and shape are those of the model's ParameterLayout. Its numbers lie
// as ours do: weights [inputs][outputs], convolutions [row][column][channel][filter]; PyTorch's lie
// the other way round and must be transposed first. Statistics are taken all together or not at
// all: a count without its means would hold the normalization where it is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/safetensors.h"

namespace murmurate {

struct WeightsMatch {
  struct Taken {
    std::size_t offset;  ///< in the flat block
    std::span<const float> values;
  };
  std::vector<Taken> taken;
  std::size_t taken_numbers = 0;
  std::size_t tensors = 0, numbers = 0;  ///< that the model has
  std::vector<std::string> missing;      ///< of the model, not in the file
  std::vector<std::string> reshaped;     ///< "policy.head.weight (file 64 4, model 64 6)"
  std::vector<std::string> unused;       ///< of the file, not taken for another reason

  /// Leaves what did not match as it is.
  void CopyTo(std::span<float> parameters) const;
};

/// The match reads `file` for as long as it lives. The status says why the file is of no use:
/// nothing matches, or a tensor that does is not float32, not finite, or no statistics.
Result<WeightsMatch> MatchWeights(const SafetensorsFile& file, const ParameterLayout& layout);

}  // namespace murmurate
