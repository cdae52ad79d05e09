// Many agents, one pass of the policy.
#include <algorithm>

#include "client/agent_core.h"

namespace murmurate {
namespace {

constexpr std::size_t kRowsAtOnce = 64;

}  // namespace

bool AgentCore::PinTogether(std::span<AgentCore* const> agents,
                            std::span<const float> observations) {
  const std::size_t width = agents.front()->observation_count_;
  for (AgentCore* agent : agents) agent->Ensure();  // may wait: nobody is pinned meanwhile
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (agents[i]->Pin(observations.subspan(i * width, width))) continue;
    for (std::size_t j = 0; j < i; ++j) PolicySet::Unpin(&agents[j]->pin_);
    return false;
  }
  return true;
}

/// Logits of `agents`, all on one buffer, into each one's own gear.
void AgentCore::RunTogether(AgentCore& leader, std::span<AgentCore* const> agents,
                            const float* observations) {
  const PolicyBuffer* buffer = agents.front()->hold_.buffer;
  if (buffer == nullptr) return;
  const bool shared =
      leader.fitted_ != nullptr && leader.fitted_->policies == agents.front()->fitted_->policies;
  AgentGear& lent = shared ? *leader.fitted_ : *agents.front()->fitted_;
  const std::size_t at_once =
      std::min<std::size_t>(kRowsAtOnce, static_cast<std::size_t>(shared ? leader.rows_ : 1));
  const std::size_t width = leader.observation_count_;
  const std::size_t n = static_cast<std::size_t>(leader.action_count_);
  float* rows = lent.group_logits.data();
  for (std::size_t first = 0; first < agents.size(); first += at_once) {
    const std::size_t count = std::min(at_once, agents.size() - first);
    buffer->policy.Logits(observations + first * width, static_cast<int>(count), rows,
                          lent.scratch.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(rows + i * n, n, agents[first + i]->fitted_->logits.data());
    }
  }
}

void AgentCore::ActTogether(std::span<AgentCore* const> agents, std::span<const float> observations,
                            std::span<std::int32_t> actions) {
  if (agents.empty()) return;
  AgentCore& leader = *agents.front();
  const std::size_t width = leader.observation_count_;
  const auto row = [&](std::size_t i) { return observations.subspan(i * width, width); };
  for (std::size_t i = 0; i < agents.size(); ++i) agents[i]->Settle(row(i));
  while (!PinTogether(agents, observations)) {
  }
  for (std::size_t first = 0, end = 0; first < agents.size(); first = end) {
    const PolicyBuffer* buffer = agents[first]->hold_.buffer;
    while (end < agents.size() && agents[end]->hold_.buffer == buffer) ++end;
    RunTogether(leader, agents.subspan(first, end - first), observations.data() + first * width);
  }
  for (std::size_t i = 0; i < agents.size(); ++i) {
    AgentCore& agent = *agents[i];
    const bool policy = agent.hold_.buffer != nullptr;
    if (policy) PolicySet::Unpin(&agent.pin_);
    const ActionChoice choice = agent.Choose(policy ? agent.fitted_->logits.data() : nullptr);
    agent.Record(row(i), choice);
    actions[i] = choice.action;
  }
}

}  // namespace murmurate
