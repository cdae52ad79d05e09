// ModelWait: where the agents of a model wait: for weights, credit, a version, a free block. Any
// thread that changes one of these says so by Progress.
#pragma once

#include <atomic>
#include <cstdint>

#include "client/platform.h"
#include "shared/core/clock.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {

class ModelWait {
 public:
  static constexpr int kLookAgainMs = 50;

  /// Something has changed: every waiting agent checks again.
  void Progress() {
    progress_.fetch_add(1, std::memory_order_seq_cst);
    WakeAll(&progress_);
  }
  /// An agent's thread: calls look() until it is true, asleep between two calls, at most
  /// kLookAgainMs. False: it was not, for `limit_ns`; 0: as long as it takes.
  template <typename Look>
  bool Until(Look look, const std::atomic<std::int64_t>& limit_ns) {
    std::int64_t begun_ns = 0;
    for (;;) {
      // guard: ClientModel.WhatChangesWhileAnAgentLooksIsNotSleptThrough: a waiting agent reads
      //   `progress_` before it looks
      const std::uint32_t seen = progress_.load(std::memory_order_seq_cst);
      if (look()) return true;
      const FutexWait wait{&progress_, seen};
      const std::int64_t since_ns = MonotonicNs();
      if (begun_ns == 0) begun_ns = since_ns;
      const std::int64_t most_ns = limit_ns.load(std::memory_order_relaxed);
      if (most_ns > 0 && since_ns - begun_ns >= most_ns) return false;
      waiting_.fetch_add(1, std::memory_order_relaxed);
      WaitForAny({&wait, 1}, kLookAgainMs);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      waited_ns_.fetch_add(MonotonicNs() - since_ns, std::memory_order_relaxed);
    }
  }

  // For reports.
  std::uint32_t progress() const { return progress_.load(std::memory_order_relaxed); }
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }  ///< agents, just now
  /// All agents together, ever.
  std::int64_t waited_ns() const { return waited_ns_.load(std::memory_order_relaxed); }

 private:
  FutexWord progress_{0};
  std::atomic<int> waiting_{0};
  std::atomic<std::int64_t> waited_ns_{0};
};

}  // namespace murmurate
