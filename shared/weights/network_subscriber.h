// NetworkSubscriber: where mmr-client leaves a whole version and mmr-weights takes it, by swapping
// buffers under a mutex.
#pragma once

#include <atomic>
#include <mutex>

#include "shared/weights/weights.h"

namespace murmurate {

class NetworkSubscriber : public WeightSubscriber {
 public:
  bool TakeNewer(const VersionStamp& known, ReceivedWeights* into) override;
  const FutexWord* word() const override { return &word_; }
  bool writer_alive() const override { return !closed_.load(std::memory_order_acquire); }

  /// mmr-client: `whole` is checked; on return it holds an older buffer to be used again.
  void Deliver(ReceivedWeights* whole);
  /// mmr-client: the reader asked for weights although it had taken them: it lost them.
  bool TakeLost() { return lost_.exchange(false, std::memory_order_relaxed); }
  void Close();

 private:
  void Wake();

  std::mutex mutex_;
  ReceivedWeights ready_;  // a version to be taken, or a buffer to be used again
  bool fresh_ = false;
  bool taken_ = false;
  FutexWord word_{0};
  std::atomic<bool> lost_{false}, closed_{false};
};

}  // namespace murmurate
