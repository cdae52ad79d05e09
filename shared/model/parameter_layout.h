// ParameterLayout: the one flat block that a model's parameters lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/model/model_spec.h"

namespace murmurate {

/// Section says what a tensor is used for and who holds it.
enum class Section : std::uint8_t {
  kPublished,   ///< of a network that players receive
  kLearner,     ///< of a network that only the learner has
  kStatistics,  ///< of the observations: players receive it
};

struct TensorSlot {
  std::string name;  ///< "policy.0.weight", "value.head.bias", "statistics.observation.mean"
  Section section;
  std::vector<int> shape;
  std::size_t offset = 0;  ///< floats from the start of the block; of a network a multiple of 16
  std::size_t count = 0;   ///< floats, without padding
  FirstValue first = FirstValue::kZeros;
  int gate = 0;  ///< of a recurrent layer: columns of one gate
};

struct SectionRange {
  std::size_t offset = 0;  ///< floats
  std::size_t count = 0;   ///< floats, padding between tensors included (it is zero and stays zero)
};

/// ParameterLayout gives the position of every tensor of a spec in the flat block: the networks in
/// the spec's order, then the statistics.
///
/// A network: each input's layers, the trunk's (those of its own), then the head (weight
/// [features][outputs], bias [outputs]); behind the policy's head the log standard deviations that
/// no state decides ("policy.log_deviation"). Statistics, when normalize_observation: count [1],
/// mean [D], variance [D] over the D float32 numbers of an observation (variance starts at 1, count
/// stops growing at 2^24, where float32 counts no further: older data then fade).
///
///   dense       weight [in][units], bias [units]
///   conv        weight [kernel][kernel][channels][filters], bias [filters]
///   layer_norm  gain [channels], shift [channels]
///   lstm        input_weight [in][4 units], hidden_weight [units][4 units], bias [4 units]; the
///               gates in the order i f g o
///   gru         input_weight [in][3 units], hidden_weight [units][3 units], bias [3 units],
///               hidden_bias [units] (inside n's reset); the gates in the order r z n
///
/// A list of arrays: one after the other in the list's order, without padding; all are trained.
struct ParameterLayout {
  explicit ParameterLayout(const ModelSpec& spec);

  std::vector<TensorSlot> tensors;
  SectionRange published;   ///< the published networks, from the block's start
  SectionRange statistics;  ///< the end of the block
  std::size_t total = 0;    ///< floats in the whole block

  const TensorSlot& Find(std::string_view name) const;  ///< aborts when there is none
  /// The networks that are trained: what gradients, optimizers and update rules see, from the
  /// block's start.
  std::size_t trained_count() const { return trained_; }

 private:
  void LayArrays(const std::vector<NamedArray>& arrays);

  std::size_t trained_ = 0;
};

}  // namespace murmurate
