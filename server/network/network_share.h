// NetworkShare: one thread's share of the rows of an ActorCritic; inside server/network only.
//
// The sequences of a minibatch are cut into nearly equal runs, one a share (rows that are
// independent are sequences of one step); the first shares have the odd ones. Rows are time-major,
// so those of a share lie in pieces, and are gathered unless there is one step:
//
//   all             step 0: a b c d e     step 1: a b c d e   ...
//   share 1 of 2                  d e                   d e
#pragma once

#include <cstdint>
#include <vector>

#include "server/network/network_pass.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class NetworkShare {
 public:
  /// Cutting says how minibatches are cut: up to `max_rows` rows, in sequences of up to `longest`
  /// steps (1 when rows are independent), into `shares`.
  struct Cutting {
    int max_rows = 0, longest = 1, shares = 1;
  };
  /// The most rows that share `index` can ever have.
  static int MostRows(const Cutting& cutting, int index);

  /// Share `index`, with room for its own rows; `layout` must stay.
  NetworkShare(const ModelSpec& spec, const ParameterLayout& layout, const Cutting& cutting,
               int index);

  /// All rows' columns, of which it reads and writes its own. `sequences` null: one step.
  void Forward(const float* parameters, const void* observations, int rows, float* logits,
               float* values, const Sequences* sequences);
  /// Overwrites the gradient; only when it has rows.
  void Backward(const float* parameters, const float* d_logits, const float* d_values,
                float* gradient);

  bool has_rows() const { return mine_.count > 0; }  ///< of the last Forward
  float* gradient() { return gradient_.data(); }     ///< of its own; the first share has none
  double flops() const { return pass_.flops(); }
  int state_floats() const { return pass_.state_floats(); }

 private:
  void Cut(const Sequences& all);
  void GatherSequences(const void* observations);
  bool gathers() const { return mine_.count < all_ && mine_.steps > 1; }
  template <typename Visit>
  void EachStep(Visit visit) const;

  const int index_, shares_;
  const std::size_t row_bytes_, outputs_;
  NetworkPass pass_;
  const std::size_t states_;
  AlignedFloats gradient_;
  int all_ = 0, begin_ = 0;  ///< sequences of the minibatch, those of the shares before this one
  Sequences mine_;
  AlignedFloats observations_, logits_, values_, d_logits_, d_values_;  ///< gathered
  std::vector<std::uint8_t> first_;
};

}  // namespace murmurate
