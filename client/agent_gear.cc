#include "client/agent_gear.h"

#include <algorithm>

namespace murmurate {

std::unique_ptr<AgentGear> MakeGear(std::shared_ptr<PolicySet> policies, int rows,
                                    int trajectory_length) {
  auto gear = std::make_unique<AgentGear>();
  const ModelSpec& spec = policies->spec();
  const Policy shape(spec);
  const int at_once = std::min(rows, 64);
  const std::size_t actions = static_cast<std::size_t>(shape.outputs());
  gear->logits = AlignedFloats(actions);
  gear->group_logits = AlignedFloats(static_cast<std::size_t>(at_once) * actions);
  gear->scratch = AlignedFloats(shape.ScratchFloats(at_once));
  gear->policies = std::move(policies);
  if (trajectory_length == 0) return gear;
  const TrajectoryLayout layout(spec, trajectory_length);
  gear->ring = std::make_shared<TrajectoryRing>(layout);
  gear->episodes.resize(static_cast<std::size_t>(layout.max_episodes));
  return gear;
}

}  // namespace murmurate
