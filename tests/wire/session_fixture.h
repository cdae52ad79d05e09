// A learner's session with hand-driven clients and a fake clock.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "server/session/server_session.h"
#include "shared/core/clock.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {

inline constexpr std::int64_t kMs = kNanosecondsPerMillisecond;
inline constexpr std::int64_t kSecond = kNanosecondsPerSecond;
inline constexpr std::size_t kBlockBytes = 1000;  ///< of one trajectory of model "npc"
inline constexpr int kLength = 8;                 ///< T

class ServerSessionTest : public testing::Test, protected ServerSession::Models {
 protected:
  /// A client as far as the learner sees it.
  struct Client {
    std::string peer;
    std::uint64_t sender = 0;
    Hello hello;
    std::uint64_t sequence = 0;
    std::uint64_t agent_steps = 0;
    // What it was told last:
    HelloOk ok;
    std::uint64_t steps_total = 0, bytes_total = 0, at_version = 0, acknowledged = 0;
    std::vector<Error> errors;
    int pongs = 0, welcomes = 0, goaways = 0;
    int granted() const { return static_cast<int>(steps_total) / kLength; }
  };

  explicit ServerSessionTest(ServerSession::Limits limits = {}) : session_(77, false, 1, limits) {}

  void AddNpc(int outstanding = 8, int batch = 4, int lockstep_agents = 0,
              bool current_only = false) {
    SessionModel model;
    model.welcome.name = "npc";
    model.welcome.id = ModelId("npc");
    model.welcome.trajectory_length = kLength;
    model.welcome.segment = "/segment";
    model.block_bytes = kBlockBytes;
    model.outstanding_limit = outstanding;
    model.batch_trajectories = batch;
    model.lockstep_agents = lockstep_agents;
    model.current_only = current_only;
    models_["npc"] = session_.AddModel(std::move(model));
  }

  Result<std::uint32_t> Lookup(const std::string& name, const std::string& spaces) override {
    if (!models_.contains(name)) return ResourceError("no more models here");
    if (spaces != "good") return InvalidArgument("action: expected discrete 2, got discrete 3");
    return models_[name];
  }

  Client MakeClient(const std::string& peer, std::uint64_t sender,
                    std::vector<std::uint32_t> agents = {0}, Pace pace = Pace::kNever) {
    Client client;
    client.peer = peer;
    client.sender = sender;
    client.hello.actor_name = "actor-" + peer;
    client.hello.pace = pace;
    client.hello.models = {{"npc", "good", std::move(agents), 0, 0}};
    return client;
  }

  void Say(Client& client, Body body) {
    Decoded message;
    message.header.sender = client.sender;
    message.body = std::move(body);
    session_.OnMessage(client.peer, message, *this, now_);
  }
  void SayHello(Client& client) {
    ++client.hello.number;
    Say(client, client.hello);
  }
  /// One of the learner's answers reaches its client.
  static void Hand(Client& client, const ServerSession::Reply& reply) {
    if (const auto* ok = std::get_if<HelloOk>(&reply.body)) {
      if (ok->session != client.ok.session) client.sequence = 0;
      client.ok = *ok;
      ++client.welcomes;
      client.bytes_total = ok->bytes_total;
      if (!ok->models.empty()) {
        client.steps_total = ok->models[0].steps_total;
        client.at_version = ok->models[0].at_version;
      }
    } else if (const auto* accepted = std::get_if<Accepted>(&reply.body)) {
      client.bytes_total = accepted->bytes_total;
      client.acknowledged = accepted->sequence;
      if (!accepted->models.empty()) {
        EXPECT_GE(accepted->models[0].steps_total, client.steps_total);
        client.steps_total = accepted->models[0].steps_total;
        client.at_version = accepted->models[0].at_version;
      }
    } else if (const auto* error = std::get_if<Error>(&reply.body)) {
      client.errors.push_back(*error);
    }
    client.pongs += std::holds_alternative<Pong>(reply.body);
    client.goaways += std::holds_alternative<Goaway>(reply.body);
  }
  /// Hands what is to be sent to the clients named; counts what went to each peer.
  std::map<std::string, int> Deliver(std::initializer_list<Client*> clients) {
    std::map<std::string, int> counts;
    for (const ServerSession::Reply& reply : session_.PopReplies()) {
      ++counts[reply.peer];
      for (Client* client : clients) {
        if (client->peer == reply.peer) Hand(*client, reply);
      }
    }
    return counts;
  }
  void Join(Client& client) {
    SayHello(client);
    Deliver({&client});
  }

  Decoded Trajectory(Client& client, std::uint64_t sequence, std::uint32_t agent = 0,
                     int steps = kLength, std::size_t bytes = kBlockBytes) {
    Experience experience;
    experience.agent = agent;
    experience.steps = static_cast<std::uint32_t>(steps);
    client.agent_steps += static_cast<std::uint64_t>(steps);
    experience.agent_steps = client.agent_steps;
    Decoded message;
    message.header.type = Experience::kRow.type;
    message.header.sender = client.sender;
    message.header.sequence = sequence;
    message.body = experience;
    message.block = std::span<const std::byte>(block_).first(bytes);
    return message;
  }
  /// The next trajectory in order; accepted ones are dealt with at once.
  ServerSession::Verdict Send(Client& client, std::uint32_t agent = 0, int steps = kLength) {
    const Decoded message = Trajectory(client, ++client.sequence, agent, steps);
    const auto verdict = session_.OnExperience(client.peer, message, now_);
    if (verdict.accept) session_.Acknowledge(client.peer, message, Refusal::kNone, "", now_);
    return verdict;
  }
  std::uint64_t Refused(Refusal refusal) const {
    return session_.refusals()[static_cast<std::size_t>(refusal)];
  }
  ServerSession::ActorReport Report(const Client& client) const {
    for (const auto& report : session_.Actors(now_)) {
      if (report.sender == client.sender) return report;
    }
    return {};
  }
  void Pass(std::int64_t ns) {
    now_ += ns;
    session_.OnTick(now_);
  }

  std::int64_t now_ = 500 * kSecond;
  std::map<std::string, std::uint32_t> models_;
  ServerSession session_;
  const std::vector<std::byte> block_ = std::vector<std::byte>(1 << 16);
};

}  // namespace murmurate::wire
