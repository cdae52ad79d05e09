#include "murmurate/observation.h"

#include <algorithm>

#include "client/misuse.h"

namespace murmurate {

Observation& Observation::operator=(const Observation& other) {
  std::copy_n(other.parts_, other.count_, parts_);
  count_ = other.count_;
  mask_ = other.mask_;
  return *this;
}

Observation& Observation::Add(const ObservationPart& part) {
  MURMURATE_EXPECT(count_ < kMaxParts, "Observation::Add", "an Observation has at most 32 parts");
  parts_[count_++] = part;
  return *this;
}

}  // namespace murmurate
