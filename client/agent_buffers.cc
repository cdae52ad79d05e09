#include "client/agent_buffers.h"

#include <algorithm>
#include <utility>

namespace murmurate {
namespace {

/// Floats of a cache line: each part begins with one of its own.
std::size_t RoundUp(std::size_t floats) { return (floats + 15) / 16 * 16; }

std::unique_ptr<AgentBuffers> NewBuffers(std::shared_ptr<const AgentShape> shape, int rows) {
  const Policy& policy = shape->policies->shape();
  const int at_once = shape->policies->deterministic() ? 1 : std::min(rows, 64);
  const std::size_t together = static_cast<std::size_t>(at_once);
  const std::size_t outputs = static_cast<std::size_t>(policy.outputs());
  const std::size_t deviations = static_cast<std::size_t>(shape->head.layout().free_deviations());
  const std::size_t row = shape->row.any() ? shape->row.row_bytes() / sizeof(float) : 0;
  const std::size_t scratch = policy.ScratchFloats(at_once);
  auto buffers = std::make_unique<AgentBuffers>();
  buffers->policies = shape->policies;
  buffers->memory =
      std::make_shared<AgentMemory>(std::shared_ptr<const FrameStack>(shape, &shape->stack),
                                    shape->row.row_bytes(), policy.state_floats());
  buffers->floats = std::make_shared<AlignedFloats>(RoundUp(outputs) + RoundUp(deviations) +
                                                    RoundUp(row) + scratch);
  const std::span<float> floats = *buffers->floats;
  buffers->outputs = floats.first(outputs);
  buffers->deviations = floats.subspan(RoundUp(outputs), deviations);
  buffers->row = floats.subspan(RoundUp(outputs) + RoundUp(deviations), row);
  buffers->scratch = floats.last(scratch);
  if (together > 1) {
    buffers->together = std::make_shared<AgentBuffers::Together>(AgentBuffers::Together{
        together, AlignedFloats(together * buffers->memory->seen_bytes() / sizeof(float)),
        AlignedFloats(together * buffers->memory->state().size()),
        AlignedFloats(together * outputs)});
  }
  buffers->shape = std::move(shape);
  return buffers;
}

}  // namespace

std::unique_ptr<AgentBuffers> MakeAgentBuffers(std::shared_ptr<const AgentShape> shape, int rows,
                                               const std::shared_ptr<BlockPool>& pool,
                                               const AgentBuffers* current) {
  const bool same = current != nullptr && current->shape == shape;
  auto buffers =
      same ? std::make_unique<AgentBuffers>(*current) : NewBuffers(std::move(shape), rows);
  buffers->reseed = false;
  buffers->ring = pool == nullptr ? nullptr : std::make_shared<TrajectoryRing>(pool);
  return buffers;
}

}  // namespace murmurate
