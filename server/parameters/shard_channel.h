// ShardChannel: how a worker's messages and blocks go to one shard and come back.
//
// Where the shard has mapped this worker's segment (shard_segment.h), pushes and answers go through
// shared memory, and no message. A shard whose own segment cannot be mapped is asked for messages,
// for as long as it lives; the next one is asked for shared memory again.
//
// One thread. No call waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "murmurate/log.h"
#include "server/parameters/retained_pushes.h"
#include "server/parameters/shard_segment.h"
#include "shared/core/aligned_floats.h"
#include "shared/transport/socket.h"
#include "shared/transport/wakeup.h"
#include "shared/wire/messages.h"

namespace murmurate {

class ShardChannel {
 public:
  struct Options {
    std::string address;
    std::uint64_t sender = 0;  ///< the worker's random number
    std::size_t floats = 0;    ///< of a block
    LogCallback log;
  };
  ShardChannel(Socket socket, Options options)
      : socket_(std::move(socket)), options_(std::move(options)) {}

  /// Makes a segment of this worker's, if there is room; else says so and goes without.
  void MakeSegment(std::size_t slots);
  const std::shared_ptr<ShardSegment>& segment() const { return segment_; }  ///< null: none
  Socket* socket() { return &socket_; }

  bool Send(const wire::Body& body, std::uint64_t sequence);
  /// `answered`: its answer is waited for (not that of one that was kept).
  bool SendPush(const SentPush& sent, bool with_block, bool answered = true);
  /// JOIN names this worker's segment, unless the shard is one that cannot be mapped.
  void NameSegment(wire::Join* join) const;

  /// A message has come from the shard of this incarnation. True: JOIN may name the segment again,
  /// which it could not for the shard before.
  bool NoteShard(std::uint64_t incarnation);
  /// Whether something has come from a shard.
  bool heard() const { return shard_ != 0; }
  /// Maps the shard's segment, if it has one. False: there is a shard that has mapped this
  /// worker's, but whose own cannot be reached.
  bool Map(const wire::Joined& joined);
  bool mapped() const { return answers_ != nullptr; }
  /// Whether Map would map a segment that is not mapped yet.
  bool WouldMap(const wire::Joined& joined) const {
    return Shares() && !answers_ && !joined.segment.empty();
  }

  /// Cheap, and true as long as the answer that is waited for is in the segment.
  bool IsAnswered() const { return waits_ && segment_->Answered(turn_); }
  /// Returns that answer, which is then not waited for any more.
  std::optional<CenterInSlot> PopAnswered();
  void StopWaiting() { waits_ = false; }
  /// The word that changes when the answer is there; nothing: it will come in a message.
  std::optional<FutexWait> WaitForAnswer() const;

  /// The block of an answer: in `slot` of the shard's segment; 0: in `frame`. Not ok: it is not of
  /// the right size.
  Status ReceiveBlock(std::uint32_t slot, Frame frame);
  /// The block received last; valid until the next.
  std::span<const float> block() const { return block_; }

 private:
  /// Whether JOIN names this worker's segment.
  bool Shares() const { return segment_ && unmapped_ == 0; }

  Socket socket_;
  const Options options_;
  std::shared_ptr<ShardSegment> segment_, answers_;  ///< this worker's; the shard's, when mapped
  std::unique_ptr<WakeupSender> wakeup_;
  std::uint64_t shard_ = 0;     ///< incarnation of the one that was heard last
  std::uint64_t unmapped_ = 0;  ///< of the one whose segment cannot be mapped; 0: none is known
  bool waits_ = false;          ///< in the segment, for the answer of turn_
  std::uint64_t turn_ = 0;      ///< of the PUSH that was sent last
  Frame frame_;
  AlignedFloats aligned_;
  std::span<const float> block_;
};

}  // namespace murmurate
