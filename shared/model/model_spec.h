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
#include "shared/model/action_layout.h"
#include "shared/model/layer.h"

namespace murmurate {

/// The layers that one input of the observation goes through before the inputs are joined.
struct InputEncoder {
  std::string input;  ///< its name; empty when the observation has no parts
  int stack = 1;      ///< 1 to 16 frames, this one the last, along the channels
  std::vector<Layer> layers;
  friend bool operator==(const InputEncoder&, const InputEncoder&) = default;
};

/// A model in words. The text form is what travels in HELLO_OK, what a weights file carries in its
/// metadata, and what is hashed; `Parse(ToText())` gives the same spec. Example:
///   murmurate-model 1                murmurate-model 1
///   observation float32 4            observation.camera uint8 84 84 1
///   action discrete 2                observation.speed float32 3
///   dense 64 tanh                    action continuous 2 low -1 -1 high 1 1
///   dense 64 tanh                    input camera stack 4
///   separate_value 1                 conv 32 8 4 0 relu
///   normalize_observation 0          flatten
///                                    trunk
///                                    dense 512 relu
///                                    lstm 128
///                                    separate_value 0
///                                    normalize_observation 1
///                                    state_dependent_deviation 0
///                                    squashed 0
///                                    scale box
/// An observation without parts is the input "-". The lines from state_dependent_deviation on are
/// there when the action has numbers in it. "scale box": the policy's middle and scale are those of
/// each number's box (ContinuousSettings::scaled); without the line they are 0 and 1 in the game's
/// units, as in all models of versions that do not know it.
struct ModelSpec {
  Spaces spaces;
  std::vector<Layer> trunk;
  bool separate_value = true;  ///< the critic has a trunk of its own
  /// float32 inputs: (x - mean) / sqrt(variance + 1e-8), clipped to +-10
  bool normalize_observation = false;
  std::vector<InputEncoder> encoders = {};  ///< an input without one goes to the trunk as it is
  ContinuousSettings continuous = {};

  /// Null when the input has no encoder.
  const InputEncoder* FindEncoder(std::string_view input) const;
  /// Numbers of an observation that are normalized; 0 without normalize_observation.
  int normalized_count() const;
  /// An agent carries a state from step to step.
  bool recurrent() const;

  std::string ToText() const;
  /// Bounded and strict: at most 16 KiB, 256 layers, 65536 units a layer, 2^28 parameters (1 GiB);
  /// an unknown line is an error, and so are shapes that do not fit (network_plan.h).
  static Result<ModelSpec> Parse(std::string_view text);
  /// SHA-256 of ToText().
  Sha256Digest Hash() const;
  /// The first 8 bytes of Hash(), little-endian: what headers and segments carry.
  std::uint64_t ShortHash() const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Whether the model can be made: its layers fit together and its parameters into 1 GiB.
Status CheckModel(const ModelSpec& spec);

/// Which part of the flat block a tensor belongs to. Published: kPolicy and kStatistics.
enum class Section : std::uint8_t { kPolicy, kCritic, kStatistics };

struct TensorSlot {
  std::string name;  ///< "policy.0.weight", "critic.head.bias", "statistics.observation.mean"
  Section section;
  std::vector<int> shape;
  std::size_t offset = 0;  ///< floats from the start of the block; a multiple of 16 (64 bytes)
  std::size_t count = 0;   ///< floats, without padding
};

struct SectionRange {
  std::size_t offset = 0;  ///< floats
  std::size_t count = 0;   ///< floats, padding between tensors included (it is zero and stays zero)
};

/// Where every tensor of a spec lies in the flat block: policy, then critic, then statistics.
///
/// Policy: each input's layers, the trunk's, then the head (weight [features][outputs], bias), and
/// the log standard deviations that no state decides ("policy.log_deviation").
/// Critic: layers of its own when separate_value, then head (weight [features][1], bias [1]).
/// Statistics, when normalize_observation: count [1], mean [D], variance [D] over the D float32
/// numbers of an observation (variance starts at 1, count stops growing at 2^24, where float32
/// counts no further: older data then fade).
///
///   dense       weight [in][units], bias [units]
///   conv        weight [kernel][kernel][channels][filters], bias [filters]
///   layer_norm  gain [channels], shift [channels]
///   lstm        input_weight [in][4 units], hidden_weight [units][4 units], bias [4 units]: i f g
///                 o
///   gru         as lstm with 3 units: r z n; and hidden_bias [units], the bias inside n's reset
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
