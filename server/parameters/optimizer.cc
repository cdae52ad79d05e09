#include "server/parameters/optimizer.h"

#include "server/parameters/adagrad.h"
#include "server/parameters/adam.h"
#include "server/parameters/momentum.h"
#include "server/parameters/rms_prop.h"
#include "server/parameters/sgd.h"
#include "shared/core/check.h"

namespace murmurate {
bool IgnoresScale(OptimizerSettings::Name name) {
  return name != OptimizerSettings::Name::kSgd && name != OptimizerSettings::Name::kMomentum;
}

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerSettings& settings, std::size_t count) {
  switch (settings.name) {
    case OptimizerSettings::Name::kAdam:
      return std::make_unique<Adam>(settings.adam, count);
    case OptimizerSettings::Name::kRmsProp:
      return std::make_unique<RmsProp>(settings.rmsprop, count);
    case OptimizerSettings::Name::kSgd:
      return std::make_unique<Sgd>(settings.sgd);
    case OptimizerSettings::Name::kMomentum:
      return std::make_unique<Momentum>(settings.momentum, count);
    case OptimizerSettings::Name::kAdagrad:
      return std::make_unique<Adagrad>(settings.adagrad, count);
  }
  MURMURATE_CHECK(false, "an optimizer has one of these names");
}

}  // namespace murmurate
