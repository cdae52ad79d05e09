// TargetNetworks: the networks of a model that follow others: no gradient steps them, and they go
// towards what they follow when a plan says so (PlannedUpdate::moves_targets).
#pragma once

#include <span>
#include <vector>

#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class TargetNetworks {
 public:
  TargetNetworks(const ModelSpec& spec, const ParameterLayout& layout);

  bool empty() const { return pairs_.empty(); }
  /// Each goes by `part` of the way, in (0, 1], to what it follows; 1 copies it (Mnih et al. 2015),
  /// less averages (Lillicrap et al. 2016, arXiv 1509.02971: tau). `parameters`: the whole block.
  void Move(std::span<float> parameters, float part) const;

  /// A tensor: where it lies in what is followed, and in what follows.
  struct Pair {
    std::size_t from = 0, to = 0, count = 0;  ///< floats
  };
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
};

}  // namespace murmurate
