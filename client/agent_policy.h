// AgentPolicy: which version of the policy an agent plays with, and in which buffers. A version is
// chosen when a trajectory begins, and again whenever there is a newer one where the learner lets
// it; it is pinned for each step, between two of which its buffer may be taken for a newer one. The
// game's thread; no lock, no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "client/agent_buffers.h"
#include "client/client_model.h"
#include "client/policy_set.h"
#include "shared/inference/action_head.h"
#include "shared/trajectory/finite.h"

namespace murmurate {

class AgentPolicy {
 public:
  explicit AgentPolicy(const ClientModel& model) : model_(model) { model_.pins->Add(&pin_); }
  /// Nothing is pinned afterwards.
  void Close() { model_.pins->Remove(&pin_); }

  /// Other buffers: the memory of the last ones stays with the agent where the model is the same.
  void Attach(AgentBuffers* buffers);
  /// Null before the first.
  AgentBuffers* fitted() const { return fitted_; }
  bool has_weights() const {
    return fitted_ != nullptr && fitted_->policies && !fitted_->policies->empty();
  }
  /// The agent plays without a policy, and now there is one.
  bool WeightsAppeared() const {
    return hold_.buffer == nullptr && fitted_->policies != nullptr && !fitted_->policies->empty();
  }
  /// False: the agent waits for the first weights (WithoutPolicy::kWait).
  bool MayPlay(bool closed) const {
    const bool weights = has_weights();
    return model_.without_policy != WithoutPolicy::kWait || weights || closed ||
           model_.given_up.load(std::memory_order_acquire);
  }

  /// Chooses the newest version, or none while there is none, and plays with it until Stop.
  /// `agent`: its learner-wide index, by which it has its epsilon of a ladder.
  VersionStamp ChooseNewest(bool greedy, std::uint32_t agent);
  /// What was chosen (or no version at all) is what the next step is played with.
  bool playing() const { return playing_; }
  /// A version was chosen, and there is a newer one.
  bool outdated() const { return hold_.buffer != nullptr && fitted_->policies->HasNewer(hold_); }
  void Stop() { playing_ = false; }
  /// The version that was chosen; null: none.
  const PolicyBuffer* version() const { return hold_.buffer; }
  const ActSettings& settings() const { return settings_; }

  // A step: Pin, Remember, Run, Unpin, CheckOutputs.
  /// False when the buffer of the version was taken for a newer one.
  bool Pin() { return hold_.buffer == nullptr || PolicySet::Pin(&pin_, hold_); }
  void Unpin() {
    if (hold_.buffer != nullptr) PolicySet::Unpin(&pin_);
  }
  /// `row`: of the step, complete; kept until it is recorded.
  void Remember(std::span<const std::byte> row) {
    row_ = row;
    if (fitted_ != nullptr) seen_ = fitted_->memory->Stack(row);
  }
  std::span<const std::byte> row() const { return row_; }
  /// The row that the policy sees: stacked, where frames are.
  const std::byte* seen() const { return seen_; }
  /// There is a version.
  void Run() {
    const Policy& policy = hold_.buffer->policy;
    AgentBuffers& buffers = *fitted_;
    policy.Forward(seen_, 1, buffers.outputs.data(), buffers.scratch.data(),
                   buffers.memory->state().data());
    std::copy_n(policy.log_deviations(), buffers.deviations.size(), buffers.deviations.data());
  }
  /// False: the outputs of the version are not finite, and are no use to this step.
  bool CheckOutputs() {
    drawn_ = hold_.buffer != nullptr;
    if (!drawn_ || (AllFinite(fitted_->outputs) && AllFinite(fitted_->deviations))) return true;
    drawn_ = false;
    std::ranges::fill(fitted_->memory->state(), 0.0f);
    return false;
  }
  /// The outputs of the last step, null where it was not played with them; `mask`: empty for none.
  ActionHead::Row PlayedRow(std::span<const std::uint8_t> mask) const {
    return {drawn_ ? fitted_->outputs.data() : nullptr,
            drawn_ ? fitted_->deviations.data() : nullptr, mask.empty() ? nullptr : mask.data()};
  }

 private:
  const ClientModel& model_;
  AgentBuffers* fitted_ = nullptr;
  PolicyHold hold_;
  ActSettings settings_;
  std::span<const std::byte> row_;
  const std::byte* seen_ = nullptr;
  bool playing_ = false;
  bool drawn_ = false;  ///< the last action was drawn from fitted_->outputs
  PolicyPin pin_;
};

}  // namespace murmurate
