// NetworkSubscriber: where mmr-client leaves the chunks of versions as they come, and mmr-weights
// takes them: it hashes them and puts them into the sink as they pass, so that nobody ever holds a
// version as it came. A version that is all here makes those before it void: whoever takes seldom
// (Updates::kManual) finds one whole version and what has come of the next, no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "shared/transport/socket.h"
#include "shared/weights/payload_hash.h"
#include "shared/weights/payload_reader.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// The next chunk of a version, by WeightAssembly.
struct WeightPiece {
  VersionStamp stamp;
  std::uint64_t hash = 0;  ///< of the whole payload
  bool first = false, last = false;
  Frame bytes;
};

class NetworkSubscriber : public WeightSubscriber {
 public:
  explicit NetworkSubscriber(const ModelSpec& spec) : reader_(ParameterLayout(spec)) {}

  bool TakeNewer(const VersionStamp& known, WeightSink* into) override;
  const FutexWord* word() const override { return &word_; }
  bool writer_alive() const override { return !closed_.load(std::memory_order_acquire); }

  /// mmr-client.
  void Deliver(WeightPiece piece);
  /// mmr-client: the reader asked for weights although it had taken them, or took their end
  /// without their beginning: it lost them.
  bool TakeLost() { return lost_.exchange(false, std::memory_order_relaxed); }
  /// mmr-client: how many whole versions had another hash or preamble than they should.
  std::uint64_t TakeDamaged() { return damaged_.exchange(0, std::memory_order_relaxed); }
  void Close();

 private:
  void Wake();
  std::deque<WeightPiece> TakePieces();
  bool Take(const WeightPiece& piece, WeightSink* into);

  std::mutex mutex_;
  std::deque<WeightPiece> pieces_;
  FutexWord word_{0};
  std::atomic<bool> lost_{false}, closed_{false};
  std::atomic<std::uint64_t> damaged_{0};

  // The taking thread's.
  PayloadReader reader_;
  PassingHash hash_;
  VersionStamp passing_;  ///< of the version that is under way; version 0: none
  bool taken_ = false;
};

}  // namespace murmurate
