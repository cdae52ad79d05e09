#include "server/stream/message_order.h"

namespace murmurate {

Standing StandingOf(const Sample& sample, std::int64_t time_ns, Device* device) {
  if (sample.sequence && device->numbered && *sample.sequence <= device->last_sequence) {
    const bool low = device->last_sequence > 0 && *sample.sequence <= device->last_sequence / 2;
    return low && sample.time_ns > device->newest_time_ns ? Standing::kBeginsAgain
                                                          : Standing::kDuplicate;
  }
  if (time_ns >= device->last_time_ns) {
    device->late = 0;
    return Standing::kNext;
  }
  if (device->late == 0 || time_ns < device->late_time_ns) {
    device->late = 1;
  } else if (time_ns > device->late_time_ns) {
    ++device->late;
  }
  device->late_time_ns = time_ns;
  return device->late > kMostLate ? Standing::kBeginsAgain : Standing::kLate;
}

}  // namespace murmurate
