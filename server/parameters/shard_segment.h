// ShardSegment: shared memory in which a worker and a shard of one host hand each other blocks, so
// that what is pushed and pulled is written once and read once, and no message carries or announces
// it.
//
// Each side makes one, which the other maps: the worker names its in JOIN, the shard names its in
// JOINED if it has mapped the worker's. Who made it alone writes its places. All workers of a model
// read the answers of a shard in one segment, so an answer is not copied: it is the block that the
// shard has as its center. Everything else stays in messages.
//
//   both     0  magic | floats of a block | places
//           64  owner (ProcessIdentity; who is dead is swept)
//          128  push     turn | step, pulled, rate, place             the worker's: it writes
//          256  answer   word | turn, step, version, ..., place       the worker's: the shard
//          writes 384  sleeps | bell (doorbell.h)                            the shard's
//         4096  place 1 ... place n    blocks, each from a 4096-byte border on
//
//   worker                                     shard
//   writes its place p
//   push <- {p}, turn <- t
//   sleeps?  rings  ------------------------>  wakes (its socket is another reason to)
//                                              turn is new: reads place p, merges
//                                              puts the answer into its own place q
//   looks a little, then sleeps on word        answer <- {q}, turn <- t; word <- t, wakes
//   word = t?  <-----------------------------  (holds q for this worker)
//   reads the shard's place q
//   push <- {p'}, turn <- t + 1  ----------->  has q back: whoever pushes has read
//
// Nothing is torn, because each place has its turn: p is the worker's again when its push is
// answered, q the shard's again when the next push comes, or BYE, or the worker is dead. Each PUSH,
// also one that is sent again, has a turn of its own, higher than all before, and is answered once.
// A shard that finds a lower turn than it has seen passes over it: what is new about it came again.
// One that has just mapped a segment passes over what lies there: the worker pushes again after
// JOINED, from where the shard is.
//
// A worker can write anything into its segment, at any time. No number of a push is read twice: it
// is copied before it is looked at or, by plain SGD, looked at in what it made of the center. So a
// wrong push is no worse than a wrong message. The push's turn is 0 while it is written.
//
// Sleeping: who pushes writes turn and then reads `sleeps`, who goes to sleep writes `sleeps` and
// then reads turn, all in one order, so one of them sees the other. One thread of each process.
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

/// A PUSH whose block lies in a place of the worker's segment; 0: it has none.
struct PlacedPush {
  wire::Push push;  ///< with its turn
  std::uint32_t place = 0;
};

/// A CENTER whose block lies in a place of the shard's segment; 0: it comes in a message, because
/// no place was free.
struct PlacedCenter {
  wire::Center center;
  std::uint32_t place = 0;
};

class ShardSegment {
 public:
  /// `places` blocks of `floats`; `bell`: the number of the shard's. Removes what dead processes of
  /// this user left behind. What fails says how much is needed.
  static Result<std::shared_ptr<ShardSegment>> Create(std::size_t floats, std::uint32_t places,
                                                      std::uint64_t bell = 0);
  enum class Access { kRead, kReadWrite };
  /// The other's. kInvalidData: something else is behind this name, or of other sizes.
  static Result<std::shared_ptr<ShardSegment>> Open(const std::string& name, std::size_t floats,
                                                    Access access);

  const std::string& name() const { return segment_.name(); }
  std::uint32_t places() const { return places_; }
  std::size_t floats() const { return floats_; }
  /// 1 to places().
  std::span<float> place(std::uint32_t number);
  bool OwnerIsAlive() const;  ///< also when it is of another container

  // ---- The worker's ----

  void Put(const PlacedPush& push);
  /// The push, if its turn is higher than `seen`; nothing while it is being written.
  std::optional<PlacedPush> Pushed(std::uint64_t seen) const;
  std::uint64_t turn() const;  ///< of the push that lies there; 0: none

  /// To the push of this turn.
  void Answer(const PlacedCenter& center, std::uint64_t turn);
  std::optional<PlacedCenter> Answered(std::uint64_t turn) const;
  /// Its change wakes who waits for the answer of `turn`.
  FutexWait WaitForAnswer(std::uint64_t turn) const;

  // ---- The shard's ----

  std::uint64_t bell() const;
  void SetSleeps(bool sleeps);
  bool Sleeps() const;

 private:
  struct Header;
  ShardSegment(SharedSegment segment, std::size_t floats, std::uint32_t places)
      : segment_(std::move(segment)), floats_(floats), places_(places) {}
  Header& header() const;

  SharedSegment segment_;
  const std::size_t floats_;
  const std::uint32_t places_;
};

}  // namespace murmurate
