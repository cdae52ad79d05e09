#include "server/stream/message_order.h"

namespace murmurate {
namespace {

using Place = SequenceWindow::Place;

Ordering OrderingOfLate(std::int64_t time_ns, Device* device) {
  if (device->late == 0 || time_ns < device->late_time_ns) {
    device->late = 1;
  } else if (time_ns > device->late_time_ns) {
    ++device->late;
  }
  device->late_time_ns = time_ns;
  return device->late > kMostLate ? Ordering::kBeginsAgain : Ordering::kLate;
}

}  // namespace

Ordering OrderingOf(const Sample& sample, std::int64_t time_ns, CellState cell, Device* device) {
  const Place place = sample.sequence ? device->sequences.Find(*sample.sequence) : Place::kNext;
  if (place != Place::kNext) {
    const bool low = *sample.sequence <= device->sequences.last() / 2;
    if (low && sample.time_ns > device->newest_time_ns) return Ordering::kBeginsAgain;
    if (place == Place::kSeen) return Ordering::kDuplicate;
    if (cell != CellState::kClosed) return Ordering::kOvertaken;
  }
  if (time_ns >= device->last_time_ns) {
    device->late = 0;
    return Ordering::kNext;
  }
  if (cell == CellState::kOpen) return Ordering::kOvertaken;
  return OrderingOfLate(time_ns, device);
}

}  // namespace murmurate
