// AgentShared: what an agent shares with mmr-client: the buffers it is fitted with, its counts, its
// troubles, and that it is closed. mmr-client fits it when the learner has said what it wants,
// reads the rest and keeps an agent until it is closed. Atomics on the game's side, never a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/agent_buffers.h"
#include "client/agent_troubles.h"
#include "client/client_model.h"
#include "client/trajectory_recorder.h"

namespace murmurate {

class AgentShared {
 public:
  /// `rows` > 1: this agent lends its scratch memory to a group of that size.
  AgentShared(std::shared_ptr<ClientModel> model, std::uint32_t number, int rows);

  // mmr-client, or before the agent is given away.
  void Fit(std::unique_ptr<AgentBuffers> buffers);
  /// The learner-wide index; 0 before the learner has said one.
  void SetIndex(std::uint32_t index) { index_.store(index, std::memory_order_relaxed); }
  /// visit(ring) of every ring the agent was ever given, the present one last, until it says true;
  /// returns true when it did.
  template <typename Visit>
  bool AnyRing(Visit visit) const {
    const std::lock_guard lock(all_buffers_mutex_);
    for (const auto& buffers : all_buffers_) {
      if (buffers->ring != nullptr && visit(buffers->ring)) return true;
    }
    return false;
  }
  /// The next sentence about play that could not be learned from; each kind once.
  bool PopComplaint(std::string* sentence);
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  int rows() const { return rows_; }

  // Any thread.
  const std::shared_ptr<ClientModel>& model() const { return model_; }
  std::uint32_t number() const { return number_; }
  std::uint32_t index() const { return index_.load(std::memory_order_relaxed); }
  AgentBuffers* buffers() const { return buffers_.load(std::memory_order_acquire); }
  const AgentCounts& counts() const { return counts_; }
  const AgentTroubles& troubles() const { return troubles_; }

  // The game's thread.
  AgentCounts& counts() { return counts_; }
  /// Training steps so far.
  std::uint64_t steps() const { return counts_.steps.load(std::memory_order_relaxed); }
  /// Notes a trouble, and lets mmr-client know when it is the first of its kind.
  void Complain(Trouble kind, const AgentTroubles::Detail& detail = {});
  void ClearTrouble(Trouble kind) { troubles_.Clear(kind); }
  /// All is handed over: the agent is never used again.
  void Close();

 private:
  const std::shared_ptr<ClientModel> model_;
  const std::uint32_t number_;
  const int rows_;
  AgentCounts counts_;
  AgentTroubles troubles_;
  std::atomic<AgentBuffers*> buffers_{nullptr};
  std::atomic<std::uint32_t> index_{0};
  std::atomic<bool> closed_{false};

  mutable std::mutex all_buffers_mutex_;  ///< mmr-client's side only
  std::vector<std::unique_ptr<AgentBuffers>> all_buffers_;
};

}  // namespace murmurate
