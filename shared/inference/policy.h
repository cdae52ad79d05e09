// Policy: the policy half of a model, any that PlanNetwork can plan, packed for the client's
// kernels: what Act runs. One source of kernels compiled for AVX-512, AVX2 and plain C++, chosen at
// run time (shared/compute/dense_kernels.h).
//
// A Policy is one version. Pack() or PackPart() is called by the thread that receives weights;
// afterwards any number of threads may read it at once. Nothing here allocates after construction,
// locks, or calls the system.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "shared/compute/dense_kernels.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/random.h"
#include "shared/model/act_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class Policy {
 public:
  /// `set`: one that the processor runs. KernelSet::kPlain gives the same bits on every x86-64
  /// machine, for as many rows at a time.
  explicit Policy(const ModelSpec& spec, KernelSet set = BestKernelSet());
  ~Policy();
  Policy(Policy&&) noexcept;

  /// `policy` and `statistics`: those sections of the flat block, in the layout of the spec.
  void Pack(std::span<const float> policy, std::span<const float> statistics);
  /// Packs the same numbers in pieces: `numbers` from number `first` on of the policy section and
  /// then the statistics; in order, without gaps. It is packed when the last one was given.
  void PackPart(std::size_t first, std::span<const float> numbers);
  /// Writes the packed parameters back in the order of the policy section.
  void Unpack(std::span<float> policy, std::span<float> statistics) const;

  /// Floats of scratch that Forward needs for `rows` rows; owned by the caller, one per thread. A
  /// multiple of 16; faster on a 64-byte border.
  std::size_t ScratchFloats(int rows) const;

  /// observations: `rows` rows of the ObservationLayout of the spec's stacked observation
  /// (StackedObservation), raw -> outputs [rows][outputs()] of the head. `states` [rows]
  /// [state_floats()] are replaced by the next ones; null for a model that carries none. Rows 1 to
  /// 64 at a time run fused in the cache.
  void Forward(const void* observations, int rows, float* outputs, float* scratch,
               float* states = nullptr) const;

  int outputs() const;       ///< of the head for one row (ActionLayout::outputs)
  int state_floats() const;  ///< of one agent; all zero when an episode begins
  /// The free log deviations of a continuous action, or null.
  const float* log_deviations() const;

 private:
  struct Packed;
  std::unique_ptr<Packed> packed_;
};

struct ActionChoice {
  std::int32_t action = 0;
  float log_prob = 0.0f;  ///< under the distribution it was drawn from
};

/// Chooses one action from one row of logits. log_prob is exact:
/// log softmax(logits / temperature)[action] for kSample, log of the epsilon mixture for kEpsilon,
/// -log n for kUniform, and for kGreedy the log-probability the sampling policy gives the chosen
/// action. Ties go to the lowest index.
ActionChoice ChooseAction(std::span<const float> logits, const ActSettings& settings,
                          Random& random);
/// Chooses as kUniform does, without logits.
ActionChoice ChooseUniform(int action_count, Random& random);

}  // namespace murmurate
