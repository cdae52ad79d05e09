// ShardSegment: shared memory in which a worker and a shard of one host hand each other blocks, so
// that what they push and pull is written once and read once instead of passing through a socket.
//
// The worker makes it and names it in JOIN; a shard with the same HostIdentity maps it and says so
// in JOINED, also after it was started again. Everything else stays in messages: a PUSH names the
// place where its block lies, a CENTER says that the answer is there.
//
//        0  magic | floats of a block | places
//       64  owner (ProcessIdentity; who is dead is swept)
//      128  turn
//     4096  answer       a block, from a 4096-byte border on
//           place 1      contributions: under way, or kept until they are in a checkpoint
//           place n
//
//   worker                                    shard
//   writes place p; turn <- t
//   PUSH {place p, turn t}  --------------->  reads place p; merges
//                                             turn = t?  yes: writes the answer
//   turn = t of the newest PUSH?  <---------  CENTER {turn t}
//   turn <- 0; reads the answer               (writes no more)
//   next PUSH {turn t + 1}  --------------->
//
// Nothing is torn, because each has its turn: a place belongs to the worker again when its push is
// answered and not kept any more; the answer is the shard's from the PUSH to its CENTER and the
// worker's from there to the next PUSH. Each PUSH, also one that is sent again, has a turn of its
// own and is answered once. One that comes late (from a connection that broke) finds another turn
// and writes nothing; the CENTER of one that was sent again meanwhile is not taken. A push that was
// kept and is sent again carries turn 0: nobody waits for its answer.
//
// One thread of each process. Messages order the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "shared/transport/shared_segment.h"

namespace murmurate {

class ShardSegment {
 public:
  /// The worker: `places` blocks of `floats` for contributions, and one for answers. Removes what
  /// dead processes of this user left behind. What fails says how much is needed.
  static Result<std::shared_ptr<ShardSegment>> Create(std::size_t floats, std::uint32_t places);
  /// The shard. kInvalidData: something else is behind this name, or of other sizes.
  static Result<std::shared_ptr<ShardSegment>> Open(const std::string& name, std::size_t floats);

  const std::string& name() const { return segment_.name(); }
  std::uint32_t places() const { return places_; }
  std::size_t floats() const { return floats_; }
  std::span<float> answer() { return At(0); }
  /// 1 to places().
  std::span<float> place(std::uint32_t number) { return At(number); }

  std::atomic<std::uint64_t>& turn();
  bool OwnerIsAlive() const;

 private:
  ShardSegment(SharedSegment segment, std::size_t floats, std::uint32_t places)
      : segment_(std::move(segment)), floats_(floats), places_(places) {}
  std::span<float> At(std::size_t block);

  SharedSegment segment_;
  const std::size_t floats_;
  const std::uint32_t places_;
};

}  // namespace murmurate
