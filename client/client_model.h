// ClientModel: what the agents of one model share with the two threads that serve them. Nothing but
// atomics on the game's side; it outlives the client while an agent holds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/agent_shape.h"
#include "client/open_trajectories.h"
#include "client/platform.h"
#include "client/policy_set.h"
#include "client/report_names.h"
#include "client/settings_table.h"
#include "murmurate/client.h"
#include "shared/core/clock.h"
#include "shared/inference/action_head.h"
#include "shared/model/observation_layout.h"
#include "shared/transport/shared_segment.h"
#include "shared/transport/socket.h"

namespace murmurate {

/// How a game's thread reaches mmr-client: one for all agents of a client.
struct SenderBell {
  WakeSignal wake;
  /// True while mmr-client sleeps and could send a block if there were one. It is set before the
  /// last look at the rings, and read after a block is handed over: one of the two sees the other.
  std::atomic<bool> wanted{false};
  std::atomic<bool> roster_changed{false};   ///< an agent came or closed
  std::atomic<bool> complained{false};       ///< an agent has a sentence to be passed on
  std::atomic<bool> closed{false};           ///< the client is gone: nobody will ever send
  std::atomic<std::int64_t> max_wait_ns{0};  ///< of one WaitFor; 0: as long as it takes
  OpenTrajectories open;
  const HomeProcess home;  ///< whose threads are at the other end
  bool nobody_hears() const { return closed.load(std::memory_order_acquire) || home.left(); }

  /// mmr-client, before it sleeps: false when something is ready after all.
  template <typename AnyReady>
  bool MaySleep(bool could_send, AnyReady any_ready) {
    // guard: TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen (1 to 5 of 5): `wanted`
    //   is set by a seq_cst store, before the count of waiting blocks is read
    wanted.store(could_send, std::memory_order_seq_cst);
    // guard: SenderBell.AHandOverWakesNobodyWhoDoesNotSleepOrCannotSend,
    //   TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen (3 of 5): the sender reads
    //   the count of waiting blocks once more before it sleeps
    if (!could_send || !any_ready()) return true;
    wanted.store(false, std::memory_order_relaxed);
    return false;
  }
  /// An agent, after it handed over a block.
  void Ring() {
    if (!wanted.load(std::memory_order_seq_cst)) return;
    if (wanted.exchange(false, std::memory_order_seq_cst)) wake.Set();
  }
};

class ClientModel {
 public:
  ClientModel(std::string model_name, Spaces model_spaces, const ClientOptions& options,
              std::shared_ptr<SenderBell> sender_bell,
              std::shared_ptr<const SettingsTable> game_settings)
      : name(std::move(model_name)),
        spaces(std::move(model_spaces)),
        observation(spaces.observation),
        head(ActionLayout(spaces.action)),
        pace(options.pace),
        without_policy(options.without_policy),
        deterministic(options.deterministic),
        bell(std::move(sender_bell)),
        settings(std::move(game_settings)),
        pins(std::make_shared<PolicyPins>()) {}

  const std::string name;
  const Spaces spaces;
  const ObservationLayout observation;
  /// What chooses before there is a model; a model's own may squash.
  const ActionHead head;
  const Pace pace;
  const WithoutPolicy without_policy;
  const bool deterministic;  ///< greedy in every mode
  const std::shared_ptr<SenderBell> bell;
  const std::shared_ptr<const SettingsTable> settings;
  const std::shared_ptr<PolicyPins> pins;

  ReportNames report_names;  ///< added to by agents, read by mmr-client
  /// One of its agents has noted Trouble::kNoEnd: the others would say the same.
  std::atomic<bool> said_no_end{false};

  // Written by mmr-client, read by agents.
  std::atomic<bool> live{false};      ///< in session, adopted, heard of lately: paces hold
  std::atomic<bool> given_up{false};  ///< refused, or goodbye for good: kWait ends
  /// kLockstep: the learner said that it comes back; until then (MonotonicNs) nobody plays on. Set
  /// before `live` falls and cleared after it rises: whoever finds neither looks at `live` again.
  std::atomic<std::int64_t> comes_back_ns{0};
  bool comes_back() const {
    const std::int64_t until_ns = comes_back_ns.load(std::memory_order_acquire);
    return until_ns > 0 && MonotonicNs() < until_ns;
  }
  std::atomic<std::uint64_t> steps_total{0};
  /// No trajectory begins under an older one, in the paces that wait; 0: any will do.
  std::atomic<std::uint64_t> at_version{0};
  std::atomic<std::int64_t> max_trajectory_ns{5'000'000'000};

  /// Trajectories that need credit of this session: begun or waiting, and sent in it. Agents add
  /// one as they begin and take it back when they drop one; a new session takes off what the last
  /// one sent.
  std::atomic<std::int64_t> started{0};

  /// Blocks of its agents that wait to be sent. Counted up after a hand-over and down after a block
  /// is taken, so it may be behind for a moment; whoever counts up rings the bell afterwards.
  std::atomic<std::int64_t> ready{0};

  /// Changes whenever a waiting agent should look again. An agent reads it before it looks, and
  /// sleeps only while it is the same.
  FutexWord progress{0};
  void Progress() {
    progress.fetch_add(1, std::memory_order_seq_cst);
    WakeAll(&progress);
  }
  std::atomic<int> waiting{0};             ///< agents that sleep just now: for reports
  std::atomic<std::int64_t> waited_ns{0};  ///< all of them together, ever
  /// An agent's thread: look() again and again until it is true, asleep between, at most
  /// kLookAgainMs. False: it was not, for max_wait_ns.
  template <typename Look>
  bool WaitFor(Look look) {
    std::int64_t begun_ns = 0;
    for (;;) {
      // guard: ClientModel.WhatChangesWhileAnAgentLooksIsNotSleptThrough: a waiting agent reads
      //   `progress` before it looks
      const std::uint32_t seen = progress.load(std::memory_order_seq_cst);
      if (look()) return true;
      const FutexWait wait{&progress, seen};
      const std::int64_t since_ns = MonotonicNs();
      if (begun_ns == 0) begun_ns = since_ns;
      const std::int64_t most_ns = bell->max_wait_ns.load(std::memory_order_relaxed);
      if (most_ns > 0 && since_ns - begun_ns >= most_ns) return false;
      waiting.fetch_add(1, std::memory_order_relaxed);
      WaitForAny({&wait, 1}, kLookAgainMs);
      waiting.fetch_sub(1, std::memory_order_relaxed);
      waited_ns.fetch_add(MonotonicNs() - since_ns, std::memory_order_relaxed);
    }
  }
  static constexpr int kLookAgainMs = 50;
  /// Open trajectories that have all their steps and leave at their agent's next Act.
  std::atomic<int> finished{0};
  /// Whether there is credit for one more trajectory of T steps.
  bool HasCredit(int trajectory_length) const {
    return Covers(started.load(std::memory_order_acquire), trajectory_length);
  }
  /// Takes it if there is any.
  bool Reserve(int trajectory_length) {
    std::int64_t begun = started.load(std::memory_order_acquire);
    do {
      if (!Covers(begun, trajectory_length)) return false;
      // guard: ClientModel.CreditIsNotSpentTwice: credit is reserved by compare-and-swap
    } while (!started.compare_exchange_weak(begun, begun + 1, std::memory_order_acq_rel));
    return true;
  }

  /// The newest weights held; null before any spec is known.
  std::shared_ptr<PolicySet> policies() const {
    std::lock_guard lock(mutex_);
    return policies_;
  }
  /// Of `policies`: null before any spec is known.
  std::shared_ptr<const AgentShape> shape() const {
    std::lock_guard lock(mutex_);
    return shape_;
  }
  void set_policies(std::shared_ptr<PolicySet> set) {
    auto shape = std::make_shared<const AgentShape>(set);
    std::lock_guard lock(mutex_);
    policies_ = std::move(set);
    shape_ = std::move(shape);
  }
  /// The newest version came and cannot be played, for the reason given; "" when it can. Whoever
  /// waits for that version plays on with the last one.
  void set_unplayable(std::uint64_t version, std::string reason) {
    {
      std::lock_guard lock(mutex_);
      unplayable_reason_ = std::move(reason);
    }
    unplayable_.store(version, std::memory_order_release);
    Progress();
  }
  std::string unplayable_reason() const {
    std::lock_guard lock(mutex_);
    return unplayable_reason_;
  }
  std::uint64_t unplayable() const { return unplayable_.load(std::memory_order_acquire); }

  bool has_weights() const {
    const auto set = policies();
    return set != nullptr && !set->empty();
  }

 private:
  bool Covers(std::int64_t begun, int trajectory_length) const {
    const std::uint64_t needed =
        static_cast<std::uint64_t>(begun + 1) * static_cast<std::uint64_t>(trajectory_length);
    return needed <= steps_total.load(std::memory_order_acquire);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<PolicySet> policies_;
  std::shared_ptr<const AgentShape> shape_;
  std::string unplayable_reason_;
  std::atomic<std::uint64_t> unplayable_{0};
};

}  // namespace murmurate
