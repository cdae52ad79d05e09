#include "server/session/session_state.h"

namespace murmurate::wire {

std::vector<ServerSession::ActorReport> ServerSession::Actors(
    std::int64_t now_ns, std::vector<ActorReport>* forgotten) const {
  std::vector<ActorReport> reports;
  for (const auto& [id, sender] : state_->table.senders()) {
    if (!sender.heard_here) continue;
    ActorReport report{.name = sender.name, .sender = id, .health = sender.health};
    if (sender.cut_off()) report.health = Sender::Health::kGone;
    report.agents = sender.agents();
    sender.AddTo(&report);
    for (const PingTrouble& trouble : sender.troubles) {
      if (sender.gone() || trouble.model >= sender.models.size()) continue;
      report.troubles.push_back(
          {state_->credits.pool(sender.models[trouble.model]).model.welcome.name, trouble.agent,
           trouble.agents, trouble.sentence});
    }
    report.silent_ns = now_ns - sender.last_heard_ns;
    report.here_ns = now_ns - sender.first_heard_ns;
    reports.push_back(std::move(report));
  }
  if (forgotten == nullptr) return reports;
  forgotten->clear();
  for (const auto& [name, report] : state_->table.forgotten()) forgotten->push_back(report);
  return reports;
}

std::vector<ServerSession::RefusedActor> ServerSession::RefusedActors(std::int64_t now_ns) const {
  std::vector<RefusedActor> refused;
  for (const RefusedActor& actor : state_->replies.refused_actors()) {
    if (now_ns - actor.last_ns <= state_->limits.gone_after_ns) refused.push_back(actor);
  }
  return refused;
}

const std::array<std::uint64_t, kRefusalCount>& ServerSession::refusals() const {
  return state_->replies.refusals();
}

std::uint64_t ServerSession::duplicates() const { return state_->duplicates; }

std::uint64_t ServerSession::EnvironmentSteps(std::uint32_t model) const {
  return state_->table.EnvironmentSteps(model);
}

std::uint64_t ServerSession::DroppedSteps(std::uint32_t model) const {
  return state_->table.DroppedSteps(model);
}

std::uint64_t ServerSession::lost_trajectories() const { return state_->table.lost_trajectories(); }

int ServerSession::live_agents(std::uint32_t model) const {
  std::size_t agents = 0;
  for (const auto& [id, sender] : state_->table.senders()) {
    if (!sender.live()) continue;
    const auto share = sender.shares.find(model);
    if (share != sender.shares.end() && !share->second.idle) agents += share->second.slots().size();
  }
  return static_cast<int>(agents);
}

int ServerSession::finished_agents(std::uint32_t model) const {
  std::size_t agents = 0;
  for (const auto& [id, sender] : state_->table.senders()) {
    if (!sender.live()) continue;
    const auto share = sender.shares.find(model);
    if (share == sender.shares.end() || share->second.idle || share->second.held() > 0) continue;
    agents += share->second.slots().size();
  }
  return static_cast<int>(agents);
}

ServerSession::Waits ServerSession::ActorWaits(std::uint32_t model) const {
  Waits waits;
  for (const auto& [id, sender] : state_->table.senders()) {
    const auto share = sender.shares.find(model);
    if (share == sender.shares.end()) continue;
    waits.waited_ns += share->second.wait.waited_ns;
    waits.played_ns += share->second.wait.played_ns;
  }
  return waits;
}

bool ServerSession::any_here() const { return state_->credits.present() > 0; }

bool ServerSession::any_lockstep() const {
  for (const auto& [id, sender] : state_->table.senders()) {
    if (!sender.gone() && sender.pace == Pace::kLockstep) return true;
  }
  return false;
}

}  // namespace murmurate::wire
