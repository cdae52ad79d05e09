#include "client/agent_row.h"

namespace murmurate {

std::span<const std::byte> CompleteRow(const AgentBuffers* fitted,
                                       const AgentObservation& observation,
                                       const AgentEpisode& episode, AgentAction& action) {
  if (fitted == nullptr || fitted->row.empty()) [[likely]]
    return observation.row();
  const std::span<std::byte> row = std::as_writable_bytes(fitted->row);
  fitted->shape->row.Write({.observation = observation.row(),
                            .privileged = observation.privileged(),
                            .action = episode.acted() ? action.game_words() : nullptr,
                            .reward = static_cast<float>(episode.step_reward())},
                           row.data());
  return row;
}

}  // namespace murmurate
