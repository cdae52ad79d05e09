// ModelSpec: everything two processes must agree on before they exchange parameters.
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
#include "shared/model/array_list.h"
#include "shared/model/layer.h"
#include "shared/model/row_space.h"

namespace murmurate {

/// The layers that one input of the observation goes through before the inputs are joined.
struct InputEncoder {
  std::string input;  ///< its name; empty when the observation has no parts
  int stack = 1;      ///< 1 to 16 frames, this one the last, along the channels
  std::vector<Layer> layers;
  friend bool operator==(const InputEncoder&, const InputEncoder&) = default;
};

/// One network of a model, by name: what it reads, its layers, its head, and what becomes of it.
struct NetworkSpec {
  std::string name;        ///< "policy", "value", "q1": 1 to 32 of a-z, 0-9 and _, a letter first
  bool published = false;  ///< players receive it with every version
  bool trained = false;    ///< gradients and the optimizer step it
  /// A target: it has layers and head as the network of this name (where that one shares layers,
  /// those of the shared one's target), and moves after its parameters. Empty: it is no target.
  std::string follows = {};
  /// It has no layers of its own: its head reads the features of the network of this name.
  std::string shares = {};
  bool reads_action = false;      ///< beside the observation: ActionLayout::encoded_count() numbers
  bool reads_privileged = false;  ///< the privileged parts of a row, too; never if published
  std::vector<InputEncoder> encoders = {};  ///< an input without one goes to the trunk as it is
  std::vector<Layer> trunk = {};
  int outputs = 0;  ///< numbers of the head; 0: what ActionLayout::outputs() needs

  /// Null when the input has no encoder.
  const InputEncoder* FindEncoder(std::string_view input) const;
  bool recurrent() const;  ///< a layer of its own recurs
  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

/// A model: the spaces and a list of named networks. The text form is what travels in HELLO_OK,
/// what a weights file carries in its metadata, and what is hashed; `Parse(ToText())` gives the
/// same spec. Example:
///   murmurate-model 2                murmurate-model 2
///   observation float32 4            observation.camera uint8 84 84 1
///   action discrete 2                observation.speed float32 3
///   normalize_observation 0          action continuous 2 low -1 -1 high 1 1
///   networks 2                       normalize_observation 1
///   network policy published trained state_dependent_deviation 0
///   dense 64 tanh                    squashed 0
///   dense 64 tanh                    scale box
///   head action                      networks 2
///   network value trained            network policy published trained
///   dense 64 tanh                    input camera stack 4
///   dense 64 tanh                    conv 32 8 4 0 relu
///   head 1                           flatten
///                                    trunk
///                                    dense 512 relu
///                                    lstm 128
///                                    head action
///                                    network value trained
///                                    shares policy
///                                    head 1
/// "previous action", "previous reward" or "previous action reward" before the line "networks": the
/// networks read these of the last step, too (previous_step.h). An observation without parts is the
/// input "-". After "network NAME" stand "published", "trained" or "follows OTHER"; a network that
/// follows another has no lines of its own. "reads action" before the layers: the action is an
/// input, too; "reads privileged" behind that: so is the privileged observation. The lines from state_dependent_deviation on are there when the action has numbers in
/// it. "scale box": the policy's middle and scale are those of each number's box
/// (ContinuousSettings::scaled); without the line they are 0 and 1 in the game's units.
/// "deterministic" behind that: ContinuousSettings::deterministic.
///
/// Published networks come first, then those that are trained and not published, then targets:
/// the order of their parameters (ParameterLayout). A published network is trained.
struct ModelSpec {
  Spaces spaces;
  /// float32 inputs: (x - mean) / sqrt(variance + 1e-8), clipped to +-10
  bool normalize_observation = false;
  ContinuousSettings continuous = {};
  std::vector<NetworkSpec> networks = {};
  PreviousInputs previous = {};
  /// Instead of all of the above: the arrays of a program of its own (array_list.h). No player and
  /// no learner has such a model, only a shard.
  std::vector<NamedArray> arrays = {};

  const NetworkSpec* Find(std::string_view network) const;  ///< null when there is none
  /// The network that chooses actions: the first. CheckModel makes sure that there is one.
  const NetworkSpec& policy() const { return networks.front(); }
  /// The space of the rows that are recorded and learned from (row_space.h). Every
  /// ObservationLayout of the model is of this one.
  Space row_space() const { return RowSpace(spaces, previous); }
  /// Frames of an input that every network sees stacked, the newest last; 1: not stacked.
  int StackOf(std::string_view input) const;
  /// Numbers of an observation that are normalized; 0 without normalize_observation.
  int normalized_count() const;
  /// Whether an agent carries a state from step to step.
  bool recurrent() const;

  std::string ToText() const;
  /// Bounded and strict: at most 16 KiB, 16 networks, 256 layers in a row, 65536 units a layer,
  /// 2^28 parameters (1 GiB); an unknown line is an error, and so are shapes that do not fit
  /// (network_plan.h). Reads the texts of "murmurate-model 1", too (policy_and_value.h).
  static Result<ModelSpec> Parse(std::string_view text);
  /// The same, and lists of arrays, too (at most 128 KiB).
  static Result<ModelSpec> ParseAny(std::string_view text);
  /// SHA-256 of ToText().
  Sha256Digest Hash() const;
  /// The first 8 bytes of Hash(), little-endian: what headers and segments carry.
  std::uint64_t ShortHash() const;
  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Ok if the model can be made: its layers fit together and its parameters fit into 1 GiB.
Status CheckModel(const ModelSpec& spec);

}  // namespace murmurate
