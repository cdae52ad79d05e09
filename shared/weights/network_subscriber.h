// NetworkSubscriber: mmr-client leaves the chunks of versions here as they come, and mmr-weights
// takes them: it hashes them and puts them into the sink as they pass, so that no thread ever holds
// a version as it came. Where chunks are taken as they come, mmr-client asks for no more chunks
// than a few ahead of that. A complete version replaces those before it: a caller that takes seldom
// (Updates::kManual) finds one whole version and the chunks of the next that have come, no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "shared/model/parameter_layout.h"
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
  /// `on_room`: called by the taking thread when MayAskForMore would become true again; empty where
  /// chunks are not taken as they come: MayAskForMore is then always true.
  explicit NetworkSubscriber(const ModelSpec& spec, std::function<void()> on_room = {})
      : on_room_(std::move(on_room)), reader_(ParameterLayout(spec)) {}

  bool ReceiveNewer(const VersionStamp& known, WeightSink* into) override;
  const FutexWord* word() const override { return &word_; }
  bool writer_alive() const override { return !closed_.load(std::memory_order_acquire); }

  /// mmr-client: leaves a chunk that has come.
  void Deliver(WeightPiece piece);
  /// mmr-client: false while more than a few chunks wait to be taken.
  bool MayAskForMore();
  /// mmr-client: the reader asked for weights although it had taken them, or took their end
  /// without their beginning: it lost them.
  bool PopLost() { return lost_.exchange(false, std::memory_order_relaxed); }
  /// mmr-client: how many whole versions had another hash or preamble than they should.
  std::uint64_t PopDamaged() { return damaged_.exchange(0, std::memory_order_relaxed); }
  void Close();

 private:
  void Wake();
  std::optional<WeightPiece> NextPiece();
  bool AddPiece(const WeightPiece& piece, WeightSink* into);

  static constexpr std::size_t kMostWaiting = 4;
  const std::function<void()> on_room_;
  std::mutex mutex_;
  std::deque<WeightPiece> pieces_;
  bool withheld_ = false;  // MayAskForMore said no
  FutexWord word_{0};
  std::atomic<bool> lost_{false}, closed_{false};
  std::atomic<std::uint64_t> damaged_{0};

  // The taking thread's.
  WeightsPayloadReader reader_;
  PassingHash hash_;
  VersionStamp passing_;  ///< of the version that is under way; version 0: none
  bool taken_ = false;
};

}  // namespace murmurate
