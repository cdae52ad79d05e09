// ClientModel: what the agents of one model share with the two threads that serve them. Nothing but
// atomics on the game's side; it outlives the client while an agent holds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/model_credit.h"
#include "client/model_wait.h"
#include "client/model_weights.h"
#include "client/report_names.h"
#include "client/sender_wakeup.h"
#include "client/settings_table.h"
#include "murmurate/client.h"
#include "shared/core/clock.h"
#include "shared/inference/action_head.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

class ClientModel {
 public:
  ClientModel(std::string model_name, Spaces model_spaces, const ClientOptions& options,
              std::shared_ptr<SenderWakeup> sender_wakeup,
              std::shared_ptr<const SettingsTable> game_settings)
      : name(std::move(model_name)),
        spaces(std::move(model_spaces)),
        observation(spaces.observation),
        privileged(spaces.privileged.kind == Space::Kind::kNone
                       ? std::nullopt
                       : std::optional<ObservationLayout>(spaces.privileged)),
        head(ActionLayout(spaces.action)),
        pace(options.pace),
        without_policy(options.without_policy),
        deterministic(options.deterministic),
        wakeup(std::move(sender_wakeup)),
        settings(std::move(game_settings)),
        pins(std::make_shared<PolicyPins>()) {}

  const std::string name;
  const Spaces spaces;
  const ObservationLayout observation;
  const std::optional<ObservationLayout> privileged;  ///< none: the spaces have none
  /// The head that chooses before there is a model; a model's own may squash.
  const ActionHead head;
  const Pace pace;
  const WithoutPolicy without_policy;
  const bool deterministic;  ///< greedy in every mode
  const std::shared_ptr<SenderWakeup> wakeup;
  const std::shared_ptr<const SettingsTable> settings;
  const std::shared_ptr<PolicyPins> pins;

  ReportNames report_names;  ///< added to by agents, read by mmr-client
  /// One of its agents has noted Trouble::kNoEnd: the others would say the same.
  std::atomic<bool> said_no_end{false};

  // Written by mmr-client, read by agents.
  std::atomic<bool> live{false};      ///< in session, adopted, heard of lately: paces hold
  std::atomic<bool> given_up{false};  ///< refused, or goodbye for good: kWait ends
  /// kLockstep: the learner said that it comes back; no agent plays on before that time
  /// (MonotonicNs). Set before `live` falls and cleared after it rises: a reader that finds neither
  /// reads `live` again.
  std::atomic<std::int64_t> comes_back_ns{0};
  bool comes_back() const {
    const std::int64_t until_ns = comes_back_ns.load(std::memory_order_acquire);
    return until_ns > 0 && MonotonicNs() < until_ns;
  }
  /// No trajectory begins under an older one, in the paces that wait; 0: any will do.
  std::atomic<std::uint64_t> at_version{0};
  std::atomic<std::int64_t> max_trajectory_ns{5'000'000'000};
  /// An open trajectory goes on under the newest version.
  std::atomic<bool> changes_version{false};
  /// Of the episodes, so many are played to be evaluated (evaluated_episodes.h).
  std::atomic<double> evaluation_share{0.0};

  /// Episodes of training that its agents have ended.
  std::atomic<std::uint64_t> episodes{0};

  /// Blocks of its agents that wait to be sent. Counted up after a hand-over and down after a block
  /// is taken, so it may be behind for a moment; the thread that counts up wakes mmr-client
  /// afterwards.
  std::atomic<std::int64_t> ready{0};

  /// Open trajectories that have all their steps and leave at their agent's next Act.
  std::atomic<int> finished{0};

  ModelCredit credit;
  ModelWait wait;
  ModelWeights weights{wait};
};

}  // namespace murmurate
