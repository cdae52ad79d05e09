// Many agents, one pass of the policy.
#include <algorithm>
#include <cstring>

#include "client/agent_core.h"
#include "client/agent_row.h"

namespace murmurate {

bool AgentCore::PinTogether(std::span<AgentCore* const> agents) {
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i]->Pin()) continue;
    for (std::size_t j = 0; j < i; ++j) agents[j]->policy_.Unpin();
    return false;
  }
  return true;
}

/// Outputs, deviations and next states of `agents`, all on one buffer, into each one's own buffers.
void AgentCore::RunTogether(AgentBuffers& lent, std::span<AgentCore* const> agents) {
  if (lent.together == nullptr) {
    for (AgentCore* agent : agents) agent->policy_.Run();
    return;
  }
  const Policy& policy = agents.front()->policy_.version()->policy;
  AgentBuffers::Together& room = *lent.together;
  const std::size_t seen_bytes = lent.memory->seen_bytes();
  const std::size_t state = lent.memory->state().size(), outputs = lent.outputs.size();
  std::byte* const seen = reinterpret_cast<std::byte*>(room.seen.data());
  for (std::size_t first = 0; first < agents.size(); first += room.rows) {
    const auto now = agents.subspan(first, std::min(room.rows, agents.size() - first));
    for (std::size_t i = 0; i < now.size(); ++i) {
      std::memcpy(seen + i * seen_bytes, now[i]->policy_.seen(), seen_bytes);
      std::ranges::copy(now[i]->policy_.fitted()->memory->state(), room.states.data() + i * state);
    }
    policy.Forward(seen, static_cast<int>(now.size()), room.outputs.data(), lent.scratch.data(),
                   room.states.data());
    for (std::size_t i = 0; i < now.size(); ++i) {
      AgentBuffers& buffers = *now[i]->policy_.fitted();
      std::copy_n(room.outputs.data() + i * outputs, outputs, buffers.outputs.data());
      std::copy_n(room.states.data() + i * state, state, buffers.memory->state().data());
      std::copy_n(policy.log_deviations(), buffers.deviations.size(), buffers.deviations.data());
    }
  }
}

bool AgentCore::StepTogether(std::span<AgentCore* const> agents) {
  for (AgentCore* agent : agents) agent->FinishReward();
  do {
    for (AgentCore* agent : agents)  // may wait: nothing is pinned meanwhile
      if (!agent->Ensure()) return false;
    // guard: AgentCore.AGroupThatWaitsForCreditHoldsNoVersion: a group pins nothing before all its
    //   agents have done waiting
  } while (!PinTogether(agents));
  for (AgentCore* agent : agents) {
    agent->policy_.Remember(
        CompleteRow(agent->policy_.fitted(), agent->observation_, agent->episode_, agent->action_));
  }
  for (std::size_t first = 0, end = 0; first < agents.size(); first = end) {
    AgentBuffers* const own = agents[first]->policy_.fitted();
    const PolicyBuffer* buffer = agents[first]->policy_.version();
    while (end < agents.size() && agents[end]->policy_.version() == buffer) ++end;
    if (buffer == nullptr) continue;
    AgentBuffers* const leaders = agents.front()->policy_.fitted();
    const bool shared = leaders != nullptr && leaders->policies == own->policies;
    RunTogether(shared ? *leaders : *own, agents.subspan(first, end - first));
  }
  for (AgentCore* agent : agents) {
    agent->policy_.Unpin();
    agent->Choose();
    agent->Record();
  }
  return true;
}

}  // namespace murmurate
