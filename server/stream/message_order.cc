#include "server/stream/message_order.h"

namespace murmurate {
namespace {

using Place = SequenceWindow::Place;

Standing StandingOfLate(std::int64_t time_ns, Device* device) {
  if (device->late == 0 || time_ns < device->late_time_ns) {
    device->late = 1;
  } else if (time_ns > device->late_time_ns) {
    ++device->late;
  }
  device->late_time_ns = time_ns;
  return device->late > kMostLate ? Standing::kBeginsAgain : Standing::kLate;
}

}  // namespace

Standing StandingOf(const Sample& sample, std::int64_t time_ns, CellState cell, Device* device) {
  const Place place = sample.sequence ? device->sequences.Find(*sample.sequence) : Place::kNext;
  if (place != Place::kNext) {
    const bool low = *sample.sequence <= device->sequences.last() / 2;
    if (low && sample.time_ns > device->newest_time_ns) return Standing::kBeginsAgain;
    if (place == Place::kSeen) return Standing::kDuplicate;
    if (cell != CellState::kClosed) return Standing::kOvertaken;
  }
  if (time_ns >= device->last_time_ns) {
    device->late = 0;
    return Standing::kNext;
  }
  if (cell == CellState::kOpen) return Standing::kOvertaken;
  return StandingOfLate(time_ns, device);
}

}  // namespace murmurate
