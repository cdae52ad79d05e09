#include "murmurate/observation.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

Observation& Observation::operator=(const Observation& other) {
  std::copy_n(other.parts_, other.count_, parts_);
  count_ = other.count_;
  mask_ = other.mask_;
  return *this;
}

Observation& Observation::Add(const ObservationPart& part) {
  MURMURATE_CHECK(count_ < kMaxParts, "an Observation has at most 32 parts");
  parts_[count_++] = part;
  return *this;
}

}  // namespace murmurate
