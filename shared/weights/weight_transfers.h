// WeightTransfers: which player pulls which version of which model from this learner, and its next
// chunk. No sockets, no clock: NetworkWeightServer sends what it says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shared/core/aligned_floats.h"
#include "shared/transport/socket.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

using ModelKey = std::array<std::uint8_t, 16>;

/// One published payload: immutable, kept alive by the transfers that still send it.
struct PublishedPayload {
  std::uint64_t version = 0;
  std::uint64_t hash = 0;
  AlignedFloats payload;

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const float>(payload));
  }
};
using PayloadPointer = std::shared_ptr<const PublishedPayload>;

class WeightTransfers {
 public:
  /// Each player pulls a model at most once at a time.
  using Key = std::pair<PeerId, ModelKey>;
  struct Transfer {
    PayloadPointer payload;
    std::size_t next = 0, window_end = 0;  ///< bytes: the next chunk, and where credit ends
    std::int64_t last_heard_ns = 0;

    bool sendable() const { return next < window_end && next < payload->bytes().size(); }
    bool finished() const { return next >= payload->bytes().size(); }
  };

  /// "" or why the PULL is refused, in words. `newest` is not null.
  std::string OnPull(const PeerId& peer, const wire::Pull& pull, const PayloadPointer& newest,
                     std::int64_t now_ns);
  /// Keeps at most three versions older than `newest` alive.
  void OnPublished(const ModelKey& model, const PayloadPointer& newest);
  void Expire(std::int64_t now_ns);
  void Erase(const Key& key) { transfers_.erase(key); }

  /// The next transfer in turn that may send, after `last`; null when none may.
  std::pair<const Key, Transfer>* NextSendable(const std::optional<Key>& last);
  bool any_sendable() { return NextSendable({}) != nullptr; }

 private:
  std::map<Key, Transfer> transfers_;
};

}  // namespace murmurate
