#include "murmurate/observation.h"

#include "shared/core/check.h"

namespace murmurate {

Observation& Observation::Add(const ObservationPart& part) {
  MURMURATE_CHECK(count_ < kMaxParts, "an Observation has at most 32 parts");
  parts_[count_++] = part;
  return *this;
}

}  // namespace murmurate
