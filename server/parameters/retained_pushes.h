// RetainedPushes: the pushes of a worker to one shard that were answered and are not yet in a
// checkpoint of it: the newest, of so many bytes at most.
//
// None is kept while those that would be lost all the same are more than those that fit: it would
// cost every exchange a pass over memory that no cache holds, for less than half of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "server/parameters/push_block_pool.h"
#include "shared/wire/shard_messages.h"

namespace murmurate {

struct SentPush {
  wire::Push push;
  std::shared_ptr<const Block> block;
};

class RetainedPushes {
 public:
  /// `floats`: of a block.
  RetainedPushes(std::size_t floats, std::size_t most_bytes)
      : floats_(floats), most_bytes_(most_bytes), pool_(floats) {}

  /// A request begins.
  void Begin() { kept_ = nullptr; }
  /// Keeps the request's block, or a copy of one that lies in a segment, whose slot is then free
  /// for the next push and stays in the caches.
  void Keep(const SentPush& request);
  /// The request was answered; `in_checkpoint`: the newest push that is in one by then.
  void Retain(const wire::Push& push, std::uint64_t in_checkpoint);
  /// Pushes up to `step` are in a checkpoint.
  void DropUpTo(std::uint64_t step);
  /// The shard has what all of them did.
  void Clear();
  /// The first push after `step`, which is sent again now; null: there is none.
  const SentPush* SendAfter(std::uint64_t step);
  /// The step of the push that was sent again last; 0: none is under way.
  std::uint64_t again() const { return again_; }

 private:
  bool MayKeep(std::uint64_t step) const;

  const std::size_t floats_, most_bytes_;
  PushBlockPool pool_;
  std::shared_ptr<const Block> kept_;  ///< of the request; null: it is not kept
  std::deque<SentPush> retained_;
  std::uint64_t in_checkpoint_ = 0, again_ = 0;
};

}  // namespace murmurate
