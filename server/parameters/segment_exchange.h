// SegmentExchange: a shard's end of the shared memory in which it exchanges with workers of its
// host (shard_segment.h): which segments are mapped, what has been pushed in them, and whose
// answers are still being read.
//
// One thread. It sleeps in a Poller that hears wakeup(), between GoesToSleep and WakesUp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "murmurate/log.h"
#include "server/parameters/shard.h"
#include "shared/core/random.h"
#include "shared/transport/wakeup.h"

namespace murmurate {

class SegmentExchange {
 public:
  explicit SegmentExchange(LogCallback log);

  /// Maps what JOIN names; returns the name of the segment with this shard's answers, or "": the
  /// worker is of another host, or there is no room; its blocks will come in messages.
  std::string Join(std::uint64_t worker, const wire::Join& join, Shard* shard);
  void Leave(std::uint64_t worker) { peers_.erase(worker); }
  bool Maps(std::uint64_t worker) const { return peers_.contains(worker); }
  /// Unmaps the segments of workers whose processes are dead, which would stay in memory.
  void LetGoOfTheDead();

  /// A PUSH that came in a message: false when a later one of this worker has been seen.
  bool IsNewest(std::uint64_t worker, const wire::Push& push);

  /// A new push of a mapped worker; its block is in `block`, which the worker may be writing, if it
  /// is up to no good. A slot that there is not makes `block` empty.
  using PushCallback = std::function<void(std::uint64_t worker, const wire::Push& push,
                                          std::span<const float> block)>;
  /// Returns how many there were.
  int ReceivePushes(const PushCallback& on_push);

  enum class Delivery { kPlaced, kMessage, kMessageWithoutBlock };
  /// kPlaced: the worker has it. Else a message is to carry it: the worker is not mapped, or no
  /// slot was free (which it has been told); without its block, when no worker waits for that.
  Delivery Answer(const Shard::Answer& answer);

  const WakeupReceiver* wakeup() const { return wakeup_.get(); }  ///< null: no worker can wake us
  /// False: there is something new; do not wait.
  bool GoesToSleep();
  void WakesUp() { SetSleeps(false); }

 private:
  struct Peer {
    std::shared_ptr<ShardSegment> segment;   ///< the worker's
    std::shared_ptr<ShardSegment> answers;   ///< of its model
    std::uint64_t seen = 0;                  ///< the highest turn
    std::uint64_t waits = 0;                 ///< the turn that is to be answered here; 0: none
    std::shared_ptr<const Block> read = {};  ///< what it reads, or may still read
  };
  std::string Without(const Status& why) const;
  bool IsNew() const;
  void SetSleeps(bool sleeps);

  const LogCallback log_;
  const std::uint64_t number_ = RandomIdentity();
  std::unique_ptr<WakeupReceiver> wakeup_;
  std::map<std::uint64_t, Peer> peers_;
};

}  // namespace murmurate
