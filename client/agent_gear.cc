#include "client/agent_gear.h"

#include <algorithm>
#include <utility>

namespace murmurate {
namespace {

/// Floats of a cache line: each part begins with one of its own.
std::size_t RoundUp(std::size_t floats) { return (floats + 15) / 16 * 16; }

std::unique_ptr<AgentGear> NewGear(std::shared_ptr<const AgentShape> shape, int rows) {
  const Policy& policy = shape->policies->shape();
  const int at_once = shape->policies->deterministic() ? 1 : std::min(rows, 64);
  const std::size_t together = static_cast<std::size_t>(at_once);
  const std::size_t outputs = static_cast<std::size_t>(policy.outputs());
  const std::size_t deviations = static_cast<std::size_t>(shape->head.layout().free_deviations());
  const std::size_t scratch = policy.ScratchFloats(at_once);
  auto gear = std::make_unique<AgentGear>();
  gear->policies = shape->policies;
  gear->memory =
      std::make_shared<AgentMemory>(std::shared_ptr<const FrameStack>(shape, &shape->stack),
                                    shape->row_bytes, policy.state_floats());
  gear->floats = std::make_shared<AlignedFloats>(RoundUp(outputs) + RoundUp(deviations) + scratch);
  const std::span<float> floats = *gear->floats;
  gear->outputs = floats.first(outputs);
  gear->deviations = floats.subspan(RoundUp(outputs), deviations);
  gear->scratch = floats.last(scratch);
  if (together > 1) {
    gear->together = std::make_shared<AgentGear::Together>(AgentGear::Together{
        together, AlignedFloats(together * gear->memory->seen_bytes() / sizeof(float)),
        AlignedFloats(together * gear->memory->state().size()), AlignedFloats(together * outputs)});
  }
  gear->shape = std::move(shape);
  return gear;
}

}  // namespace

std::unique_ptr<AgentGear> MakeGear(std::shared_ptr<const AgentShape> shape, int rows,
                                    const std::shared_ptr<BlockPool>& pool, const AgentGear* worn) {
  const bool same = worn != nullptr && worn->shape == shape;
  auto gear = same ? std::make_unique<AgentGear>(*worn) : NewGear(std::move(shape), rows);
  gear->reseed = false;
  gear->ring = pool == nullptr ? nullptr : std::make_shared<TrajectoryRing>(pool);
  return gear;
}

}  // namespace murmurate
