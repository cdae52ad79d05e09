// The key metrics.parameters.
#pragma once

#include "server/metrics/parameter_file.h"

namespace murmurate {

template <typename S>
class Keys;

const Keys<ParameterFileSettings>& ParameterFileKeys();

}  // namespace murmurate
