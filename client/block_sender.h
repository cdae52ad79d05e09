// BlockSender: takes handed-over blocks from the agents' rings and sends them as they lie, as far
// as credit in bytes and in steps allows. mmr-client only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/agent_registry.h"
#include "shared/transport/socket.h"
#include "shared/wire/client_session.h"

namespace murmurate {

class BlockSender {
 public:
  struct Totals {
    std::uint64_t sent = 0, trajectories_dropped = 0, steps_dropped = 0;
  };

  /// Begins with the learner's reply about `models`. `fresh`: a new session, whose totals count
  /// from 0.
  void BeginSession(const wire::HelloOk& hello_ok, const std::vector<RegisteredModel>& models,
                    const std::vector<ModelSpec>& specs, bool fresh);
  void SetCredit(std::uint64_t bytes_total, const std::vector<wire::ModelCredit>& credit);
  /// Ends sending until the next session; a message the socket would not take is lost.
  void EndSession(const std::vector<RegisteredModel>& models);

  /// Sends in one bounded round: agent after agent, one block each, until nothing is left or
  /// allowed.
  void SendSome(const std::vector<RegisteredModel>& models, wire::ClientSession& session,
                Socket& socket);
  /// Whether a block handed over now could be sent now.
  bool MaySend() const;
  /// Whether a block that waits could be sent now.
  bool AnyToSend(const std::vector<RegisteredModel>& models) const;
  /// The socket was full: try again soon.
  bool blocked() const { return pending_.has_value(); }
  /// Drops the blocks that an agent still has ready.
  void DropReady(const AgentCore& agent, std::size_t model);

  Totals totals(std::size_t model) const {
    return model < counts_.size() ? counts_[model] : Totals{};
  }
  Totals totals() const;

 private:
  struct Credit {
    std::uint64_t steps_total = 0, at_version = 0, spec_hash = 0;
    std::int64_t sent = 0;  ///< trajectories, in this session
    std::uint64_t trajectory_length = 0;
    std::size_t block_bytes = 0;
    std::size_t next_agent = 0;  ///< whose turn it is to send
  };
  struct Pending {
    Message message;
    std::size_t model = 0;
    int steps = 0;
  };

  bool MaySend(const Credit& credit) const;
  int SendRound(const RegisteredModel& entry, std::size_t model, wire::ClientSession& session,
                Socket& socket);
  bool SendOne(const RegisteredModel& entry, std::size_t model, AgentCore& agent,
               wire::ClientSession& session, Socket& socket);
  Message Pack(const std::shared_ptr<TrajectoryRing>& ring, TrajectoryBlock* block,
               std::size_t model, const AgentCore& agent, wire::ClientSession& session);
  bool TrySend(Pending pending, Socket& socket);
  void Drop(ClientModel& model, std::size_t index, int steps);
  bool Wanted(const TrajectoryRing& ring, const TrajectoryBlock& block, const ClientModel& model,
              const Credit& credit) const;

  bool in_session_ = false, resumed_ = false;
  std::uint64_t incarnation_ = 0, bytes_total_ = 0, bytes_sent_ = 0;
  std::vector<Credit> credit_;  ///< in the order of Hello::models
  std::vector<Totals> counts_;  ///< over the client's life
  std::optional<Pending> pending_;
};

}  // namespace murmurate
