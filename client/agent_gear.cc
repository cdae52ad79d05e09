#include "client/agent_gear.h"

#include <algorithm>

namespace murmurate {

std::unique_ptr<AgentGear> MakeGear(std::shared_ptr<PolicySet> policies, int rows,
                                    int trajectory_length) {
  const ModelSpec& spec = policies->spec();
  const Policy& shape = policies->shape();
  ActionHead head(ActionLayout(spec.spaces.action, spec.continuous));
  auto memory = std::make_unique<AgentMemory>(spec, shape.state_floats());
  const int at_once = policies->deterministic() ? 1 : std::min(rows, 64);
  const std::size_t together = static_cast<std::size_t>(at_once);
  const std::size_t outputs = static_cast<std::size_t>(shape.outputs());
  const std::size_t deviations = static_cast<std::size_t>(head.layout().free_deviations());
  AgentGear::Together room{together, AlignedFloats(together * memory->seen_bytes() / sizeof(float)),
                           AlignedFloats(together * memory->state().size()),
                           AlignedFloats(together * outputs)};
  std::unique_ptr<AgentGear> gear(
      new AgentGear{.policies = std::move(policies),
                    .ring = {},
                    .episodes = {},
                    .head = std::move(head),
                    .memory = std::move(memory),
                    .outputs = AlignedFloats(outputs),
                    .deviations = AlignedFloats(deviations),
                    .scratch = AlignedFloats(shape.ScratchFloats(at_once)),
                    .together = std::move(room)});
  if (trajectory_length == 0) return gear;
  const TrajectoryLayout layout(gear->policies->spec(), trajectory_length);
  gear->ring = std::make_shared<TrajectoryRing>(layout, spec.ShortHash());
  gear->episodes.resize(static_cast<std::size_t>(layout.max_episodes));
  return gear;
}

}  // namespace murmurate
