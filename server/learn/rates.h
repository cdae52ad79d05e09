// Rates: what of a model's learning may be changed while it runs, each a number or a schedule over
// the steps that were learned from.
#pragma once

#include "murmurate/status.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/state.h"

namespace murmurate {

struct Rates {
  Schedule learning_rate, clip, entropy;
  bool clips = true;  ///< the algorithm's ratio; where it does not, `clip` means nothing

  static Rates Of(const AlgorithmSettings& settings);
  void Save(const StateWriter& writer) const;
  /// All but `clips`.
  Status Load(const StateReader& reader);
};

}  // namespace murmurate
