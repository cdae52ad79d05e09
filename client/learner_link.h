// LearnerLink: what mmr-client repeats: the session with the learner, sending what agents hand
// over, weights over the network when there is no segment, and starting again whenever the learner
// is gone.
//
//   PollOnce: roster changed? HELLO again -> receive -> time -> fetch weights -> send blocks ->
//   sleep
//
// It sleeps in one poll over its sockets and the agents' bell.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/block_sender.h"
#include "client/dropped_play.h"
#include "client/roster.h"
#include "client/weights_receiver.h"
#include "shared/transport/socket.h"
#include "shared/weights/network_weights.h"
#include "shared/wire/client_session.h"

namespace murmurate {

class LearnerLink {
 public:
  LearnerLink(SocketContext& context, std::string address, ClientOptions options, Roster& roster,
              WeightsReceiver& receiver, std::shared_ptr<SenderBell> bell,
              std::shared_ptr<SettingsTable> settings);

  void PollOnce();  ///< mmr-client: one bounded round, at most 100 ms
  /// When mmr-client has ended: sends what credit allows (at most 200 ms) and BYE, and closes its
  /// sockets. What any thread may ask is still answered.
  void Leave();

  // Any thread.
  StateReport State() const;
  bool should_stop() const { return should_stop_.load(std::memory_order_acquire); }
  struct Numbers {
    BlockSender::Totals totals;
    std::uint64_t refused = 0, reconnects = 0;
    std::uint64_t trajectories_committed = 0, steps_committed = 0, lost = 0;
  };
  Numbers numbers() const;

 private:
  /// What each model has been set up with, so that the same again changes nothing.
  struct Outfit {
    std::string spec_text, segment;
    std::uint64_t incarnation = 0;
    bool over_network = false;
    std::shared_ptr<BlockPool> pool;  ///< of the agents that come next
  };

  /// Of a model's agents together, for this learner.
  struct Life {
    std::int64_t waited_before_ns = 0, played_ns = 0;
  };

  /// A model whose agents wait while nothing changes.
  struct Standstill {
    std::uint32_t progress = 0;
    std::int64_t since_ns = 0;
    bool said = false;
  };

  void OpenSocket();
  void SayGoodbye();
  void Introduce(std::int64_t now_ns);
  void ReceiveSome(std::int64_t now_ns);
  void Take(const Message& message, std::int64_t now_ns);
  void Apply(const wire::ClientSession::Output& output, std::int64_t now_ns);
  void Send(const wire::Body& body);
  void OnEvent(wire::ClientSession::Event::Kind kind);
  void OnWelcome();
  bool MayAdopt(const wire::HelloOk& hello_ok);
  bool ReadSpecs(const std::vector<RosterModel>& models, std::vector<ModelSpec>* specs);
  void TakeBaseline(const std::vector<RosterModel>& models);
  void FitModel(const RosterModel& entry, std::size_t index, const ModelSpec& spec);
  void FitAgents(const RosterModel& entry, const wire::HelloOkModel& welcome, std::size_t index);
  const std::shared_ptr<BlockPool>& PoolFor(std::size_t index, const ModelSpec& spec, int length);
  void SubscribeWeights(const RosterModel& entry, const wire::HelloOkModel& welcome,
                        const std::shared_ptr<PolicySet>& policies, Outfit& outfit);
  bool MaySend() const;
  void OnCredit();
  void CountReconnect();
  void OnNewVersion();
  void AwaitReturn();
  void NoteCommitted();
  void SetLive(bool live);
  bool RemoveClosed();
  void NotePlayed(std::int64_t now_ns);
  wire::Ping Progress();
  /// What is wrong with the play of this client's agents; says once what no agent complains of.
  std::vector<wire::PingTrouble> Troubles();
  void UpdateState(std::int64_t now_ns);
  void Announce(StateReport report, std::int64_t now_ns);
  void NoteWaiting(const std::vector<RosterModel>& models, std::int64_t now_ns);
  void Sleep();
  void Log(LogLevel level, const std::string& text) const;

  SocketContext& context_;
  const std::string address_;
  const ClientOptions options_;
  Roster& roster_;
  WeightsReceiver& receiver_;
  const std::shared_ptr<SenderBell> bell_;
  const std::shared_ptr<SettingsTable> settings_;

  std::optional<Socket> socket_;
  wire::ClientSession session_;
  NetworkWeightFetcher fetcher_;
  BlockSender sender_;
  std::vector<RosterModel> models_;  ///< the roster's as of this round
  std::uint64_t models_revision_ = 0;
  bool closing_ = false;                      ///< closed agents still have something to send
  std::vector<Outfit> outfits_;               ///< in the order of Hello::models
  std::vector<wire::HelloModel> introduced_;  ///< as last sent
  std::vector<Standstill> waits_;
  std::vector<RosterCounts> baseline_;  ///< what had been played before this incarnation
  std::vector<Life> lives_;
  std::vector<DroppedPlay> dropped_;  ///< in the order of Hello::models
  std::int64_t lived_until_ns_ = 0;
  std::uint64_t incarnation_ = 0;
  std::int64_t comes_back_ns_ = 0;  ///< until when lock-step waits for a learner that is away
  std::string fetching_from_;
  bool adopted_ = false, ever_live_ = false, live_ = false;
  std::string trouble_;  ///< why a welcome was not followed
  int sleep_ms_ = 2;
  std::int64_t started_ns_;
  bool said_nobody_ = false;

  std::atomic<bool> should_stop_{false};
  mutable std::mutex state_mutex_;
  StateReport state_;
  Numbers numbers_;
};

}  // namespace murmurate
