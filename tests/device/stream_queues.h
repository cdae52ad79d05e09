// StreamQueues: work that was enqueued on streams and is done when it is asked for, in one of the
// orders that streams and events allow.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "server/compute/device/device.h"

namespace murmurate {

struct DeviceWork {
  template <typename Run>
  requires std::invocable<Run&> DeviceWork(Run work) : run(std::move(work)) {}
  DeviceWork(std::function<bool()> begin, std::function<void()> work)
      : ready(std::move(begin)), run(std::move(work)) {}

  std::function<bool()> ready;  ///< asked again and again when it is the first; null: it is
  std::function<void()> run;
};

class StreamQueues {
 public:
  /// Seed 0 and 1: in the order in which it was enqueued. Others: what can be done next on each
  /// stream is drawn, by a seed in favour of one stream or of neither.
  explicit StreamQueues(std::uint64_t seed);

  void Enqueue(Stream stream, DeviceWork work);
  DeviceEvent MakeEvent();
  void DropEvent(DeviceEvent event);
  void Record(Stream stream, DeviceEvent event);
  void WaitFor(Stream stream, DeviceEvent event);
  bool Reached(DeviceEvent event) const;

  std::size_t events() const { return events_.size(); }  ///< that were not dropped
  bool empty() const;
  /// Does a piece of work; false: there is none, or (unless empty) none that is ready.
  bool DoOne();
  /// Forgets all work; every event is reached.
  void Clear();

 private:
  struct Event {
    std::uint64_t records = 0, reached = 0;
  };
  struct Piece {
    std::uint64_t number = 0;  ///< in the order of enqueueing
    DeviceWork work;
    std::shared_ptr<const Event> waits_for = nullptr;
    std::uint64_t record = 0;  ///< of the event that it waits for
  };
  using Queue = std::deque<Piece>;

  Queue& QueueOf(Stream stream) { return queues_[static_cast<std::size_t>(stream)]; }
  const std::shared_ptr<Event>& EventOf(DeviceEvent event) const;
  bool Blocked(const Piece& piece);
  /// The stream whose first piece is next.
  Queue* Choose();
  bool Prefers(const Queue& one, const Queue& other);

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::uint64_t enqueued_ = 0;
  bool unready_ = false;  ///< the last Choose found work that is not ready
  std::array<Queue, kStreams> queues_;
  std::map<DeviceEvent, std::shared_ptr<Event>> events_;  ///< work that knows one keeps it, too
  DeviceEvent made_ = 0;                                  ///< so far; no number is given twice
};

}  // namespace murmurate
