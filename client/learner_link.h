// LearnerLink is what mmr-client repeats: the session with the learner, sending what agents hand
// over, weights over the network when there is no segment, and starting again whenever the learner
// is gone.
//
//   PollOnce: registry changed? HELLO -> receive -> time -> fetch weights -> send blocks -> sleep
//
// It sleeps in one poll over its sockets and the signal by which agents wake it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/agent_registry.h"
#include "client/block_sender.h"
#include "client/dealer_socket.h"
#include "client/link_state.h"
#include "client/model_setups.h"
#include "client/play_report.h"
#include "shared/weights/network_weights.h"
#include "shared/wire/client_session.h"

namespace murmurate {

class LearnerLink {
 public:
  LearnerLink(SocketContext& context, std::string address, ClientOptions options,
              AgentRegistry& registry, WeightsReceiver& receiver,
              std::shared_ptr<SenderWakeup> wakeup, std::shared_ptr<SettingsTable> settings);

  void PollOnce();  ///< mmr-client: one bounded round, at most 100 ms
  /// To be called when mmr-client has ended: sends what credit allows (at most 200 ms) and BYE, and
  /// closes its sockets. What any thread may ask is still answered.
  void Leave();

  /// The link's state, for any thread.
  const LinkState& state() const { return state_; }

 private:
  void OpenSocket();
  void SayGoodbye();
  void Introduce(std::int64_t now_ns);
  void ReceiveSome(std::int64_t now_ns);
  void OnMessage(const wire::Decoded& message, std::int64_t now_ns);
  void Apply(const wire::ClientSession::Output& output);
  void OnEvent(wire::ClientSession::Event::Kind kind);
  void OnWelcome();
  bool MaySend() const;
  void OnCredit();
  void AwaitReturn();
  void SetLive(bool live);
  bool RemoveClosed();
  void UpdateState(std::int64_t now_ns);
  StateReport Describe(bool live) const;
  void Sleep();
  void Log(LogLevel level, const std::string& text) const;

  const std::string address_;
  const ClientOptions options_;
  AgentRegistry& registry_;
  const std::shared_ptr<SenderWakeup> wakeup_;
  const std::shared_ptr<SettingsTable> settings_;

  wire::ClientSession session_;
  DealerSocket socket_;
  NetworkWeightFetcher fetcher_;
  BlockSender sender_;
  ModelSetups setups_;
  PlayReport play_;
  LinkState state_;
  std::vector<RegisteredModel> models_;  ///< the registry's as of this round
  std::uint64_t models_revision_ = 0;
  bool closing_ = false;  ///< closed agents still have something to send
  bool adopted_ = false, live_ = false;
  std::string trouble_;  ///< why a welcome was not followed
  int sleep_ms_ = 2;
};

}  // namespace murmurate
