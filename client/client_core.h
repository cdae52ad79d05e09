// ClientCore: one client put together: the registry, the two threads, and a policy file if there is
// one.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/agent_registry.h"
#include "client/learner_link.h"
#include "client/weights_receiver.h"
#include "shared/core/loop.h"
#include "shared/model/weights_file.h"

namespace murmurate {

class ClientCore {
 public:
  /// `address` empty: no socket, no thread.
  ClientCore(std::string address, ClientOptions options, std::optional<WeightsFile> policy);
  ~ClientCore();
  /// Wakes the waiting threads, says goodbye and joins mmr-client. Queries are still answered, and
  /// agents play on alone. It runs once: the destructor calls it if it has not run.
  void Stop();

  /// `more_follow`: the learner hears of it together with those that follow at once.
  Result<std::shared_ptr<AgentCore>> NewAgent(const AgentOptions& options, int rows,
                                              bool more_follow = false);
  StateReport State() const;
  ClientStats Stats() const;
  int Update();
  /// Limits the waits of the calls that play, from now on: they fail after that long. 0: never.
  void LimitWaits(int milliseconds) {
    wakeup_->max_wait_ns.store(milliseconds * kNanosecondsPerMillisecond,
                               std::memory_order_relaxed);
  }
  bool should_stop() const { return link_ != nullptr && link_->state().should_stop(); }
  double Setting(std::string_view name, double fallback) const {
    return settings_->Get(name, fallback);
  }
  Status Save(const std::string& path, const std::string& model) const;
  /// Without a learner there is no mmr-client: the calling thread passes on what agents reported.
  void Hear() const;

  const HomeProcess& home() const { return wakeup_->home; }

  Status last_error;

 private:
  Status PlayPolicy(ClientModel& model);

  bool stopped_ = false;
  const ClientOptions options_;
  const std::optional<WeightsFile> policy_;
  const std::shared_ptr<SenderWakeup> wakeup_;
  const std::shared_ptr<SettingsTable> settings_;
  AgentRegistry registry_;
  WeightsReceiver receiver_;
  std::unique_ptr<SocketContext> context_;
  std::unique_ptr<LearnerLink> link_;
  std::unique_ptr<Loop> weights_loop_, client_loop_;
};

}  // namespace murmurate
