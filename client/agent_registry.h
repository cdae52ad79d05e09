// AgentRegistry: who plays: the models of one client and their agents. NewAgent adds from the
// game's thread, mmr-client reads; locked for moments, never inside Act.
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
struct RegistryCounts {
  std::uint64_t steps = 0, evaluation_steps = 0, steps_dropped = 0, trajectories_dropped = 0;
  std::uint64_t steps_given_up = 0, rewards_not_finite = 0, steps_overrun = 0;
  void Add(const AgentCounts& counts);
};

struct RegisteredModel {
  std::shared_ptr<ClientModel> model;
  std::vector<std::shared_ptr<AgentCore>> agents;
  RegistryCounts closed;  ///< of agents that are gone
};

class AgentRegistry {
 public:
  static constexpr std::size_t kMaxModels = 64;

  AgentRegistry(ClientOptions options, std::shared_ptr<SenderWakeup> wakeup,
                std::shared_ptr<const SettingsTable> settings)
      : options_(std::move(options)), wakeup_(std::move(wakeup)), settings_(std::move(settings)) {}

  /// Adds an agent of options.model. A new model is made first and passed to `prepare` before other
  /// threads see it. Bad or other spaces, or an error of `prepare`: an error, and nothing is added.
  Result<std::shared_ptr<AgentCore>> Add(const AgentOptions& options, int rows,
                                         const std::function<Status(ClientModel&)>& prepare);
  /// Forgets closed agents of whom done(agent, index of the model) says that nothing is left to
  /// send; true when there were any. `left`: whether closed ones are still there.
  template <typename Predicate>
  bool RemoveClosed(Predicate done, bool* left = nullptr);

  /// A copy that keeps its agents and models alive.
  std::vector<RegisteredModel> models() const;
  /// Updates `models`, the copy of the last call, if agents or models came or went since.
  void CopyModels(std::vector<RegisteredModel>* models, std::uint64_t* revision) const;
  std::shared_ptr<ClientModel> Find(const std::string& name) const;
  /// HELLO's list.
  std::vector<wire::HelloModel> HelloModels() const;
  RegistryCounts Counts(std::size_t model) const;
  RegistryCounts AllCounts() const;
  bool empty() const;
  std::size_t agents() const;  ///< of all models
  /// Logs what agents reported about their observations and rewards, once each.
  void PassOnComplaints(const LogCallback& log) const;
  /// The troubles of the live agents: one for each model and kind, with the first agent that has it
  /// and the number of agents that have it.
  std::vector<wire::PingTrouble> Troubles() const;

 private:
  static RegistryCounts CountsOf(const RegisteredModel& entry);

  const ClientOptions options_;
  const std::shared_ptr<SenderWakeup> wakeup_;
  const std::shared_ptr<const SettingsTable> settings_;
  mutable std::mutex mutex_;
  std::vector<RegisteredModel> models_;
  std::uint32_t next_number_ = 0;
  std::uint64_t revision_ = 1;
};

template <typename Predicate>
bool AgentRegistry::RemoveClosed(Predicate done, bool* left) {
  std::lock_guard lock(mutex_);
  bool any = false, waiting = false;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    RegisteredModel& entry = models_[i];
    any |= std::erase_if(entry.agents, [&](const std::shared_ptr<AgentCore>& agent) {
             if (!agent->shared().closed()) return false;
             if (!done(*agent, i)) {
               waiting = true;
               return false;
             }
             entry.closed.Add(agent->shared().counts());
             return true;
           }) > 0;
  }
  if (left != nullptr) *left = waiting;
  if (any) ++revision_;
  return any;
}

}  // namespace murmurate
