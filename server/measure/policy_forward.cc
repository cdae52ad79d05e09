#include "server/measure/policy_forward.h"

#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

PolicyAndValue SpecOf(const PolicyForwardShape& shape) {
  PolicyAndValue spec;
  spec.spaces = {Box({shape.observations}), Discrete(shape.actions)};
  spec.trunk = {{shape.units, Activation::kTanh}, {shape.units, Activation::kTanh}};
  return spec;
}

}  // namespace

PolicyForward::PolicyForward(const PolicyForwardShape& shape)
    : shape_(shape),
      policy_(SpecOf(shape)),
      observations_(static_cast<std::size_t>(shape.rows) * shape.observations),
      logits_(static_cast<std::size_t>(shape.rows) * shape.actions),
      scratch_(policy_.ScratchFloats(shape.rows)) {
  const PolicyAndValue spec = SpecOf(shape);
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 1, parameters);
  policy_.Pack({parameters.data(), layout.published.count}, {});
  Random random(1);
  for (float& x : observations_) x = static_cast<float>(random.Normal());
}

double PolicyForward::flops() const {
  const double units = shape_.units;
  return 2 * units * (shape_.observations + units + shape_.actions) * shape_.rows;
}

}  // namespace murmurate
