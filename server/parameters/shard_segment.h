// ShardSegment: shared memory in which a worker and a shard of one host hand each other blocks, so
// that what is pushed and pulled is written once and read once, and no message carries or announces
// it.
//
// Each side makes one, which the other maps: the worker names its in JOIN, the shard names its in
// JOINED if it has mapped the worker's. Only its maker writes its slots. All workers of a model
// read the answers of a shard in one segment, so an answer is not copied: it is the block that the
// shard has as its center. Everything else stays in messages.
//
//   both     0  magic | floats of a block | slots
//           64  owner (ProcessIdentity; a dead one's is swept)
//          128  push     turn | step, pulled, rate, slot          the worker's: it writes
//          256  answer   word | turn, step, version, ..., slot    the worker's: the shard writes
//          384  sleeps | wakeup (wakeup.h)                        the shard's
//         4096  slot 1 ... slot n      blocks, each from a 4096-byte border on
//
//   worker                                     shard
//   writes its slot p
//   push <- {p}, turn <- t
//   sleeps?  wakes the shard  -------------->  wakes (its socket is another reason to)
//                                              turn is new: reads slot p, merges
//                                              puts the answer into its own slot q
//   polls a little, then sleeps on word        answer <- {q}, turn <- t; word <- t, wakes
//   word = t?  <-----------------------------  (holds q for this worker)
//   reads the shard's slot q
//   push <- {p'}, turn <- t + 1  ----------->  has q back: a worker that pushes has read
//
// Nothing is torn, because each slot has its turn: p is the worker's again when its push is
// answered, q the shard's again when the next push comes, or BYE, or the worker is dead. Each PUSH,
// also one that is sent again, has a turn of its own, higher than all before, and is answered once.
// A shard that finds a lower turn than it has seen passes over it: what is new about it came again.
// One that has just mapped a segment passes over what lies there: the worker pushes again after
// JOINED, from where the shard is.
//
// A worker can write anything into its segment, at any time. No number of a push is read twice: it
// is copied before it is checked or, by plain SGD, checked in what it made of the center. So a
// wrong push is no worse than a wrong message. The push's turn is 0 while it is written.
//
// Sleeping: a worker that pushes writes turn and then reads `sleeps`, a shard that goes to sleep
// writes `sleeps` and then reads turn, all in one order, so one of them sees the other. One thread
// of each process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "shared/transport/shared_segment.h"
#include "shared/wire/shard_messages.h"

namespace murmurate {

/// A PUSH whose block lies in a slot of the worker's segment; 0: it has none.
struct PushInSlot {
  wire::Push push;  ///< with its turn
  std::uint32_t slot = 0;
};

/// A CENTER whose block lies in a slot of the shard's segment; 0: it comes in a message, because
/// no slot was free.
struct CenterInSlot {
  wire::Center center;
  std::uint32_t slot = 0;
};

class ShardSegment {
 public:
  /// Makes `slots` blocks of `floats`; `wakeup`: the number by which workers wake the shard. It
  /// removes what dead processes of this user left behind. A failure says how much is needed.
  static Result<std::shared_ptr<ShardSegment>> Create(std::size_t floats, std::uint32_t slots,
                                                      std::uint64_t wakeup = 0);
  enum class Access { kRead, kReadWrite };
  /// Maps the other side's. kInvalidData: something else is behind this name, or of other sizes.
  static Result<std::shared_ptr<ShardSegment>> Open(const std::string& name, std::size_t floats,
                                                    Access access);

  const std::string& name() const { return segment_.name(); }
  std::uint32_t slots() const { return slots_; }
  std::size_t floats() const { return floats_; }
  /// The floats of slot `number`, 1 to slots().
  std::span<float> slot(std::uint32_t number);
  bool OwnerIsAlive() const;  ///< also when it is of another container

  // ---- The worker's ----

  void Put(const PushInSlot& push);
  /// The push, if its turn is higher than `seen`; nothing while it is being written.
  std::optional<PushInSlot> Pushed(std::uint64_t seen) const;
  std::uint64_t turn() const;  ///< of the push that lies there; 0: none

  /// Answers the push of this turn.
  void Answer(const CenterInSlot& center, std::uint64_t turn);
  std::optional<CenterInSlot> Answered(std::uint64_t turn) const;
  /// The word whose change wakes the worker that waits for the answer of `turn`.
  FutexWait WaitForAnswer(std::uint64_t turn) const;

  // ---- The shard's ----

  std::uint64_t wakeup() const;
  void SetSleeps(bool sleeps);
  bool Sleeps() const;

 private:
  struct Header;
  ShardSegment(SharedSegment segment, std::size_t floats, std::uint32_t slots)
      : segment_(std::move(segment)), floats_(floats), slots_(slots) {}
  Header& header() const;

  SharedSegment segment_;
  const std::size_t floats_;
  const std::uint32_t slots_;
};

}  // namespace murmurate
