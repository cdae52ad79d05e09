#include "tests/device/stream_queues.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {

StreamQueues::StreamQueues(std::uint64_t seed) : seed_(seed), random_(seed) {}

void StreamQueues::Enqueue(Stream stream, DeviceWork work) {
  QueueOf(stream).push_back({.number = ++enqueued_, .work = std::move(work)});
}

DeviceEvent StreamQueues::MakeEvent() {
  events_[made_] = std::make_shared<Event>();
  return made_++;
}

void StreamQueues::DropEvent(DeviceEvent event) {
  EventOf(event);
  events_.erase(event);
}

const std::shared_ptr<StreamQueues::Event>& StreamQueues::EventOf(DeviceEvent event) const {
  const auto found = events_.find(event);
  MURMURATE_CHECK(found != events_.end(), "the event was made by this device, and not dropped");
  return found->second;
}

void StreamQueues::Record(Stream stream, DeviceEvent event) {
  const std::shared_ptr<Event>& found = EventOf(event);
  const std::uint64_t record = ++found->records;
  Enqueue(stream, [found, record] { found->reached = record; });
}

void StreamQueues::WaitFor(Stream stream, DeviceEvent event) {
  const std::shared_ptr<Event>& found = EventOf(event);
  QueueOf(stream).push_back({.number = ++enqueued_,
                             .work = DeviceWork([] {}),
                             .waits_for = found,
                             .record = found->records});
}

bool StreamQueues::Reached(DeviceEvent event) const {
  const Event& found = *EventOf(event);
  return found.reached == found.records;
}

bool StreamQueues::empty() const {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const Queue& queue) { return queue.empty(); });
}

bool StreamQueues::Blocked(const Piece& piece) {
  if (piece.waits_for != nullptr && piece.waits_for->reached < piece.record) return true;
  const bool unready = piece.work.ready && !piece.work.ready();
  unready_ |= unready;
  return unready;
}

StreamQueues::Queue* StreamQueues::Choose() {
  Queue* best = nullptr;
  unready_ = false;
  for (Queue& queue : queues_) {
    if (queue.empty() || Blocked(queue.front())) continue;
    if (best == nullptr || !Prefers(*best, queue)) best = &queue;
  }
  return best;
}

bool StreamQueues::Prefers(const Queue& one, const Queue& other) {
  if (seed_ < 2) return one.front().number < other.front().number;
  constexpr double kFavour[] = {0.02, 0.5, 0.98};
  return std::bernoulli_distribution(kFavour[seed_ % 3])(random_);
}

bool StreamQueues::DoOne() {
  Queue* const queue = Choose();
  MURMURATE_CHECK(queue != nullptr || empty() || unready_,
                  "an event was recorded before a stream waits for it");
  if (queue == nullptr) return false;
  const DeviceWork work = std::move(queue->front().work);
  queue->pop_front();
  work.run();
  return true;
}

void StreamQueues::Clear() {
  for (Queue& queue : queues_) queue.clear();
  for (auto& [number, event] : events_) event->reached = event->records;
}

}  // namespace murmurate
