// ModelSpec: everything two processes must agree on before they exchange parameters, and the one
// flat block those parameters lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/spaces.h"
#include "murmurate/status.h"
#include "shared/core/sha256.h"

namespace murmurate {

enum class Activation : std::uint8_t { kNone, kTanh, kRelu };

/// One dense layer of the trunk: y = activation(x W + b), W row-major [in][units].
struct DenseLayer {
  int units = 0;
  Activation activation = Activation::kTanh;
  friend bool operator==(const DenseLayer&, const DenseLayer&) = default;
};

/// A model in words. The text form is what travels in HELLO_OK, what a weights file carries in its
/// metadata, and what is hashed; `Parse(ToText())` gives the same spec. Example:
///   murmurate-model 1
///   observation float32 4
///   action discrete 2
///   dense 64 tanh
///   dense 64 tanh
///   separate_value 1
///   normalize_observation 0
struct ModelSpec {
  Spaces spaces;
  std::vector<DenseLayer> trunk;
  bool separate_value = true;          ///< the critic has a trunk of its own
  bool normalize_observation = false;  ///< (x - mean) / sqrt(variance + 1e-8), clipped to +-10

  std::string ToText() const;
  /// Bounded and strict: at most 16 KiB, 64 layers, 65536 units a layer, 2^28 parameters (1 GiB);
  /// an unknown line is an error.
  static Result<ModelSpec> Parse(std::string_view text);
  /// SHA-256 of ToText().
  Sha256Digest Hash() const;
  /// The first 8 bytes of Hash(), little-endian: what headers and segments carry.
  std::uint64_t ShortHash() const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Which part of the flat block a tensor belongs to (design 6). Published: kPolicy and kStatistics.
enum class Section : std::uint8_t { kPolicy, kCritic, kStatistics };

struct TensorSlot {
  std::string name;  ///< "policy.0.weight", "critic.head.bias", "statistics.observation.mean"
  Section section;
  std::vector<int> shape;  ///< weights [in, out], biases [out]
  std::size_t offset = 0;  ///< floats from the start of the block; a multiple of 16 (64 bytes)
  std::size_t count = 0;   ///< floats, without padding
};

struct SectionRange {
  std::size_t offset = 0;  ///< floats
  std::size_t count = 0;   ///< floats, padding between tensors included (it is zero and stays zero)
};

/// Where every tensor of a spec lies in the flat block: policy, then critic, then statistics.
///
/// Policy: each trunk layer's weight and bias, then head (weight [units][n], bias [n]).
/// Critic: its own trunk when separate_value, then head (weight [units][1], bias [1]).
/// Statistics, when normalize_observation: count [1], mean [D], variance [D] (variance starts at 1,
/// count stops growing at 2^24, where float32 counts no further: older data then fade).
struct ParameterLayout {
  explicit ParameterLayout(const ModelSpec& spec);

  std::vector<TensorSlot> tensors;
  SectionRange policy, critic, statistics;
  std::size_t total = 0;  ///< floats in the whole block

  const TensorSlot& Find(std::string_view name) const;  ///< aborts when there is none
  /// Policy and critic together: what gradients, optimizers and update rules see; starts at 0.
  std::size_t trained_count() const { return policy.count + critic.count; }
};

}  // namespace murmurate
