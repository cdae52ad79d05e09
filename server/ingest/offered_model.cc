#include "server/ingest/offered_model.h"

namespace murmurate {
namespace {

constexpr std::size_t kMetadataRoom = 8192;  ///< header, metadata and padding beside a block

}  // namespace

std::size_t MostTrajectoryBytes() { return SocketOptions{}.max_message_bytes - kMetadataRoom; }

Result<wire::SessionModel> ForSession(const std::string& name, const OfferedModel& offered,
                                      bool shm) {
  const ExperienceChannel& channel = *offered.channel;
  const std::size_t limit = MostTrajectoryBytes();
  if (channel.layout.block_bytes > limit) {
    return InvalidArgument("model " + name + ": a trajectory takes " +
                           std::to_string(channel.layout.block_bytes) + " bytes and a message " +
                           std::to_string(limit) + " at most; lower algorithm.trajectory_length");
  }
  wire::SessionModel model;
  model.welcome.name = name;
  model.welcome.id = wire::ModelId(name);
  model.welcome.spec = channel.spec.ToText();
  model.welcome.trajectory_length = static_cast<std::uint32_t>(channel.layout.length);
  model.welcome.max_trajectory_ms = static_cast<std::uint32_t>(offered.max_trajectory_s * 1000.0);
  model.welcome.changes = offered.newest_weights && !offered.current_only;
  model.welcome.evaluation_share = offered.evaluation_share;
  model.welcome.segment = shm ? offered.segment : "";
  model.features = wire::kNamedNetworks;
  if (channel.spec.continuous.deterministic) model.features |= wire::kDeterministic;
  model.block_bytes = channel.layout.block_bytes;
  model.outstanding_limit = offered.batches_ahead * channel.batch_trajectories;
  model.batch_trajectories = channel.batch_trajectories;
  model.lockstep_steps = offered.lockstep_steps;
  model.lockstep_agents = offered.lockstep_agents;
  model.current_only = offered.current_only;
  return model;
}

}  // namespace murmurate
