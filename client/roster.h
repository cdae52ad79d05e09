// Roster: who plays: the models of one client and their agents. NewAgent adds from the game's
// thread, mmr-client reads; locked for moments, never inside Act.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "client/agent_core.h"
#include "client/client_model.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

/// Sums over a model's agents, closed ones included.
struct RosterCounts {
  std::uint64_t steps = 0, evaluation_steps = 0, steps_dropped = 0, trajectories_dropped = 0;
  std::uint64_t steps_given_up = 0, rewards_not_finite = 0, steps_overrun = 0;
  void Add(const AgentCounts& counts);
};

struct RosterModel {
  std::shared_ptr<ClientModel> model;
  std::vector<std::shared_ptr<AgentCore>> agents;
  RosterCounts closed;  ///< of agents that are gone
};

class Roster {
 public:
  static constexpr std::size_t kMaxModels = 64;

  Roster(ClientOptions options, std::shared_ptr<SenderBell> bell,
         std::shared_ptr<const SettingsTable> settings)
      : options_(std::move(options)), bell_(std::move(bell)), settings_(std::move(settings)) {}

  /// An agent of options.model, which is made if it is new: `prepare` then has it before anybody
  /// else sees it. Bad or other spaces, or what `prepare` says: an error, and nothing is added.
  Result<std::shared_ptr<AgentCore>> Add(const AgentOptions& options, int rows,
                                         const std::function<Status(ClientModel&)>& prepare);
  /// Forgets closed agents of whom done(agent, index of the model) says that nothing is left to
  /// send; true when there were any. `left`: whether closed ones are still there.
  template <typename Predicate>
  bool RemoveClosed(Predicate done, bool* left = nullptr);

  /// A copy: agents and models stay alive while somebody looks.
  std::vector<RosterModel> models() const;
  /// The same into `models`, which is from the last call, when somebody came or went since.
  void CopyModels(std::vector<RosterModel>* models, std::uint64_t* revision) const;
  std::shared_ptr<ClientModel> Find(const std::string& name) const;
  /// HELLO's list.
  std::vector<wire::HelloModel> HelloModels() const;
  RosterCounts Counts(std::size_t model) const;
  RosterCounts AllCounts() const;
  bool empty() const;
  std::size_t agents() const;  ///< of all models
  /// What agents had to say about what they were shown, once each.
  void PassOnComplaints(const LogCallback& log) const;
  /// What is wrong with the play of agents that are here: of each model and each kind one, with the
  /// first agent that has it and how many have.
  std::vector<wire::PingTrouble> Troubles() const;

 private:
  static RosterCounts CountsOf(const RosterModel& entry);

  const ClientOptions options_;
  const std::shared_ptr<SenderBell> bell_;
  const std::shared_ptr<const SettingsTable> settings_;
  mutable std::mutex mutex_;
  std::vector<RosterModel> models_;
  std::uint32_t next_number_ = 0;
  std::uint64_t revision_ = 1;
};

template <typename Predicate>
bool Roster::RemoveClosed(Predicate done, bool* left) {
  std::lock_guard lock(mutex_);
  bool any = false, waiting = false;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    RosterModel& entry = models_[i];
    any |= std::erase_if(entry.agents, [&](const std::shared_ptr<AgentCore>& agent) {
             if (!agent->closed()) return false;
             if (!done(*agent, i)) {
               waiting = true;
               return false;
             }
             entry.closed.Add(agent->counts());
             return true;
           }) > 0;
  }
  if (left != nullptr) *left = waiting;
  if (any) ++revision_;
  return any;
}

}  // namespace murmurate
