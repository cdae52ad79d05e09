#include "server/parameters/optimizer.h"

#include "server/parameters/adam.h"
#include "server/parameters/rms_prop.h"

namespace murmurate {

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings, std::size_t count) {
  if (settings.name == OptimizerSettings::Name::kRmsProp)
    return std::make_unique<RmsProp>(settings.rmsprop, count);
  return std::make_unique<Adam>(settings.adam, count);
}

}  // namespace murmurate
