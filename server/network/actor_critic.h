// ActorCritic: a ModelSpec of a policy and its value (policy_and_value.h) made runnable on the
// learner: forward and backward over one flat block.
//
// y = head(trunk(join(encoder(source(input)) for each input))); the value has layers of its own
// unless it shares the policy's. The block is the caller's: parameters and gradient have the layout
// of ParameterLayout. One thread uses an object at a time; several objects may read the same
// parameters.
//
// With `threads` > 1 the rows are cut into as many nearly equal shares (whole sequences for
// recurrent models), one a thread, the caller's among them; each share has a gradient of its own,
// and they are summed at the end, share by share. The cut follows from rows and threads alone, so a
// number of threads gives the same bits at every run; another number gives other sums, equal to
// rounding.
//
//   thread_team.h          the threads
//   network_share.h        one thread's share of the rows
//   network_pass.h         the network on one thread
//   observation_sources.h  rows of observations -> bytes, numbers, one-hot categories
//   network_tower.h        encoders, joined vector, trunk in stages between recurrent layers
//   layer_chain.h          layers, a chunk of rows at a time
//   network_layer.h        one layer of each kind
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "server/network/sequences.h"
#include "shared/core/random.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class ActorCritic {
 public:
  /// Scratch for up to `max_rows` rows is allocated here and nowhere else (every layer's output is
  /// kept for Backward). Starts threads - 1 threads, mmr-train.2 and so on; they end with the
  /// object; std::system_error when the system has too few. A recurrent model's rows come in
  /// sequences of at most `longest_sequence` steps (0: all rows may be one): then `threads` shares
  /// take no more memory than one, but for a gradient each.
  ActorCritic(const ModelSpec& spec, int max_rows, int threads = 1, int longest_sequence = 0);
  ~ActorCritic();
  ActorCritic(ActorCritic&&) noexcept;

  const ModelSpec& spec() const;
  const ParameterLayout& layout() const;
  int outputs() const;       ///< width of the policy's head: ActionLayout::outputs()
  int state_floats() const;  ///< of an agent; 0: no layer recurs

  /// observations: `rows` raw rows of the ObservationLayout of StackedObservation(spec) (for one
  /// float32 input: [rows][D] floats), 4-byte aligned -> logits [rows][outputs()] and values
  /// [rows]; keeps what Backward needs. `observations` must stay valid and unchanged until
  /// Backward. rows <= max_rows. Null logits: values alone, no Backward after it. Recurrent models
  /// need `sequences`, whose steps * count are `rows`; others ignore it. A value after one more
  /// step takes one step with state0.
  void Forward(std::span<const float> parameters, const void* observations, int rows, float* logits,
               float* values, const Sequences* sequences = nullptr);

  /// Gradient of a scalar loss with respect to both networks, given its gradients with
  /// respect to the last Forward's outputs (d_logits [rows][outputs()], d_values [rows]);
  /// backpropagation through all steps, none into state0. Overwrites gradient[0 ..
  /// layout().trained_count()); policy.log_deviation, which no output depends on, gets 0. Once
  /// after each Forward.
  void Backward(std::span<const float> parameters, const float* d_logits, const float* d_values,
                std::span<float> gradient);

  /// Floating-point operations (multiply and add counted apart) of one row forward plus backward.
  double flops_per_row() const;

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

/// Initializer says how weights begin.
enum class Initializer : std::uint8_t {
  kOrthogonal,  ///< rows or columns at right angles (Saxe et al. 2014)
  kXavier,      ///< uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio 2010)
  kHe,          ///< normal with deviation sqrt(2 / in) (He et al. 2015)
  kNormal,      ///< normal with deviation 1 for every layer size, as numpy.random.randn
};

/// Initialization says how a block of parameters begins.
struct Initialization {
  Initializer weights = Initializer::kOrthogonal;
  /// Bias of the gates that keep an LSTM's or a GRU's state. Unset: 1 and 0. At 2.5 a state fades
  /// by 1 - sigmoid(2.5) = 1/13 a step, so there is something to learn from for longer (Tallec and
  /// Ollivier, "Can recurrent neural networks warp time?", 2018).
  std::optional<float> keep_bias = {};
  /// The deviation of continuous actions, in their samples' units; those that depend on the
  /// state begin near it.
  float deviation = 1.0f;
  /// The gain of the policy's head: small, so that no action is preferred at first.
  double policy_gain = 0.01;

  Initialization() = default;
  Initialization(Initializer given) : weights(given) {}
};

/// Fills the block from a seed, the same numbers on every machine and by any number of threads.
/// kOrthogonal: dense and conv layers with gain sqrt(2) (conv as [kernel * kernel *
/// channels][filters]), policy head policy_gain, value head 1 (Schulman's PPO; "The 37
/// implementation details of PPO"), recurrent weights with gain 1, each gate by itself. The others
/// scale the heads' numbers by the same policy_gain and 1, and keep recurrent layers orthogonal.
/// Always: biases and shifts 0, but keep_bias of the forget gates (usually 1: Jozefowicz et al.
/// 2015) and of a GRU's z; gains 1, log deviations log(deviation), those that the head gives
/// through its biases; statistics: count 0, mean 0, variance 1.
void InitializeParameters(const ModelSpec& spec, std::uint64_t seed, std::span<float> parameters,
                          const Initialization& how = {});

/// Merges raw rows (of the space's own ObservationLayout, frames not stacked; one for each weight)
/// into the statistics section (Chan et al. 1979): the float32 inputs' numbers. Rows with weight 0
/// are left out, numbers beyond +-1e18 count as that.
void UpdateObservationStatistics(const ModelSpec& spec, const void* observations,
                                 std::span<const float> weights, std::span<float> parameters);

}  // namespace murmurate
