// PolicySet: the three packed buffers of one model's newest versions: written by mmr-weights,
// played by any number of agents, none of which ever waits.
//
//   buffer {Policy, stamp, settings, generation}      generation: odd while the buffer is written
//
//   mmr-weights                                  an agent, inside Act
//   choose a buffer: not the latest, best one    pin = buffer                    (seq_cst)
//     no agent plays on, else the oldest         generation still what I know?   (seq_cst)
//   generation += 1 (odd)          (seq_cst)       no:  pin = null; take the latest
//   wait until no pin is on it     (seq_cst)       yes: run the policy; pin = null
//   pack, piece by piece as they come; stamp
//   generation += 1 (even); latest = buffer
//
// A version is packed straight from where it comes from, and Save reads the latest buffer back: the
// three buffers are all that is held of the weights. One that was begun and never became whole
// stays odd, out of every agent's reach, and is the one that the next version begins in.
//
// The two seq_cst pairs are Dekker's: either the agent sees the odd generation, or the writer sees
// the pin. A trajectory stays on its buffer; when its generation has changed, the agent hands over
// what it has and goes on under the latest. The packing thread makes a buffer when the first
// version needs it, and frees nothing before the end: a client that plays a file holds one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/inference/policy.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/weights.h"

namespace murmurate {

struct PolicyBuffer {
  PolicyBuffer(const ModelSpec& spec, KernelSet set) : policy(spec, set) {}
  Policy policy;
  VersionStamp stamp;
  ActSettings act;
  std::uint64_t order = 0;  ///< of packing: the smallest is the oldest
  alignas(64) std::atomic<std::uint64_t> generation{0};
};

/// One agent's marks, read by mmr-weights. Lies inside the agent.
struct alignas(64) PolicyPin {
  std::atomic<const PolicyBuffer*> pinned{nullptr};   ///< inside Act
  std::atomic<const PolicyBuffer*> playing{nullptr};  ///< of the open trajectory: only a hint
};

/// A buffer as an agent knows it: valid while the generation is the same.
struct PolicyHold {
  const PolicyBuffer* buffer = nullptr;
  std::uint64_t generation = 0;
};

/// The pins of a model's living agents. Locked when an agent comes or goes and by mmr-weights.
class PolicyPins {
 public:
  void Add(PolicyPin* pin);
  void Remove(PolicyPin* pin);
  /// Returns when no agent pins `buffer`.
  void WaitUntilFree(const PolicyBuffer* buffer) const;
  bool IsPlayed(const PolicyBuffer* buffer) const;

 private:
  mutable std::mutex mutex_;
  std::vector<PolicyPin*> pins_;
};

class PolicySet {
 public:
  PolicySet(const ModelSpec& spec, std::shared_ptr<PolicyPins> pins, bool deterministic = false);

  /// mmr-weights, or Client::Update: begins a version; what was put since the last Publish is void.
  void Begin();
  /// Stores a piece of the version, as WeightSink::Put does. Does nothing unless a version was
  /// begun.
  void Put(std::size_t first, std::span<const float> numbers);
  /// Makes the version, of which all was put, the latest.
  void Publish(const VersionStamp& stamp, const ActSettings& act);
  /// Begin, Put and Publish at once.
  void Publish(const VersionStamp& stamp, const ActSettings& act, std::span<const float> policy,
               std::span<const float> statistics);

  /// An agent: pins the latest version into `pin` and says which; false while there is none.
  bool PinLatest(PolicyPin* pin, PolicyHold* hold) const;
  /// An agent: pins the version it knows; false (and nothing pinned) when its buffer was taken.
  static bool Pin(PolicyPin* pin, const PolicyHold& hold) {
    pin->pinned.store(hold.buffer, std::memory_order_seq_cst);
    // guard: PolicySet.ABufferThatWasTakenCannotBePinnedAgain,
    //   PolicySet.AWriterWaitsForWhoeverIsInsideAct,
    //   PolicySet.UnderHammeringEveryPassIsOfOneWholeVersion,
    //   AgentCore.OnlyALostBufferCutsATrajectory: an agent reads the generation again after it has
    //   set its pin
    if (hold.buffer->generation.load(std::memory_order_seq_cst) == hold.generation) return true;
    Unpin(pin);
    return false;
  }
  static void Unpin(PolicyPin* pin) { pin->pinned.store(nullptr, std::memory_order_release); }

  bool empty() const { return latest_.load(std::memory_order_acquire) == nullptr; }
  /// There is a version after this one.
  bool HasNewer(const PolicyHold& hold) const {
    return latest_.load(std::memory_order_acquire) != hold.buffer;
  }
  /// The stamp of the latest version; any thread.
  VersionStamp stamp() const;
  /// The latest version; 0 without weights, with those of a file, and after ForgetVersion until the
  /// next Publish.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void ForgetVersion() { version_.store(0, std::memory_order_release); }
  /// Whether rows are run one at a time, by the portable kernels.
  bool deterministic() const { return deterministic_; }
  const ModelSpec& spec() const { return spec_; }
  /// A policy of any version, for its sizes.
  const Policy& shape() const { return buffers_[0]->policy; }
  const ParameterLayout& layout() const { return layout_; }
  /// The whole flat block of the latest version, its value zero; any thread but a game's.
  AlignedFloats Parameters(VersionStamp* stamp) const;

 private:
  static constexpr int kBuffers = 3;
  PolicyBuffer* ChooseBuffer();
  std::unique_ptr<PolicyBuffer> NewBuffer() const;

  const ModelSpec spec_;
  const bool deterministic_;
  const ParameterLayout layout_;
  const std::shared_ptr<PolicyPins> pins_;
  std::array<std::unique_ptr<PolicyBuffer>, kBuffers> buffers_;
  PolicyBuffer* begun_ = nullptr;  // odd: no agent uses it
  std::uint64_t packed_ = 0;
  std::atomic<PolicyBuffer*> latest_{nullptr};
  std::atomic<std::uint64_t> version_{0};

  mutable std::mutex stamp_mutex_;
  VersionStamp stamp_;  // of the latest
};

}  // namespace murmurate
