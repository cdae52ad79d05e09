// Priorities: the chance P = (|TD| + floor)^alpha of each row of a replay to be sampled (Schaul et
// al. 2016, the proportional form), by its place in the ring. A row has its P from the moment that
// it is inserted, and can be drawn from the moment that it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/replay/mapped_block.h"
#include "server/replay/replay_settings.h"
#include "server/replay/sum_tree.h"
#include "shared/core/random.h"
#include "shared/model/state.h"

namespace murmurate {

class Priorities {
 public:
  Priorities(const ReplaySettings& settings, BlockCursor& block);

  /// A row that was inserted: the largest P that any row has had so far, first 1.
  void Begin(std::size_t place) { own_[place] = largest_; }
  /// `error`: |TD|. One that is not finite changes nothing.
  void Set(std::size_t place, float error);
  /// The row can be drawn from now on.
  void Open(std::size_t place) { drawn_.Set(place, own_[place]); }
  /// `count` rows are no longer there; they do not run over the ring's end.
  void Evict(std::size_t place, std::size_t count) { drawn_.Fill(place, count, 0.0f); }

  /// Draws a place in each of places.size() equal parts of the sum of all P, in order, and the
  /// weights (N P)^-beta over the largest of these. A row can be drawn. The least chance among the
  /// places: P over the sum of all.
  double Draw(Random* random, std::span<std::size_t> places, std::span<float> weights);

  /// P of the row of each place, to be given to Restore; of a place that Begin was not called of it
  /// means nothing.
  std::span<const float> own() const { return own_; }
  void Restore(std::size_t place, float own);

  void Save(const StateWriter& writer) const { writer.Floats("largest_priority", {&largest_, 1}); }
  Status Load(const StateReader& reader) {
    return reader.Floats("largest_priority", {&largest_, 1});
  }

 private:
  const float exponent_, importance_, floor_;
  std::span<float> own_;  ///< P of each row
  SumTree drawn_;         ///< the same; 0 of those that cannot be drawn
  float largest_ = 1.0f;
  std::vector<double> masses_;
};

}  // namespace murmurate
