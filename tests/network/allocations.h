// Counts what the calling thread allocates with operator new (replaced in allocations.cc).
#pragma once

namespace murmurate {

long Allocations();

}  // namespace murmurate
