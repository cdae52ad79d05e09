// PlainOrthonormalVectors: what OrthonormalVectors gives, computed in the plainest way, on one
// thread and with one sum after the other.
#pragma once

#include <vector>

#include "shared/core/random.h"

namespace murmurate {

std::vector<double> PlainOrthonormalVectors(int count, int n, Random& random);

}  // namespace murmurate
