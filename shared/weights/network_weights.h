// Weights over the network: a 64-byte announcement on PUB/SUB (CONFLATE), the body pulled in 256 KiB
// chunks on credit from ROUTER `weights`. A version in transfer is finished even when a newer one
// appears (the server keeps two); slow players skip versions; nothing is ever queued for them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/transport/socket.h"
#include "shared/weights/weights.h"
#include "shared/wire/messages.h"

namespace murmurate {

/// The learner's sockets for all its models; one thread.
class NetworkWeightServer {
 public:
  static Result<std::unique_ptr<NetworkWeightServer>> Open(SocketContext& context,
                                                           const std::string& announce_address,
                                                           const std::string& weights_address,
                                                           std::uint64_t incarnation);
  ~NetworkWeightServer();
  /// A publisher for one model; the server must outlive it. Same thread.
  std::unique_ptr<WeightPublisher> AddModel(const std::string& name, const ModelSpec& spec);
  /// Answers PULLs; bounded. Returns after `timeout_ms`, a message, or `signal`.
  void PollOnce(int timeout_ms, const WakeSignal* signal);
  std::string announce_address() const;
  std::string weights_address() const;

 private:
  struct State;
  explicit NetworkWeightServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The player's sockets for the models it fetches over the network; owned and polled by mmr-client.
/// Whole versions (hash checked) are passed to the subscribers, which mmr-weights reads.
class NetworkWeightFetcher {
 public:
  NetworkWeightFetcher(SocketContext& context, std::uint64_t sender);
  ~NetworkWeightFetcher();
  /// (Re)connects to the addresses of HELLO_OK.
  Status Connect(const std::string& announce_address, const std::string& weights_address,
                 std::uint64_t incarnation);
  std::shared_ptr<WeightSubscriber> AddModel(const std::string& name, const ModelSpec& spec);
  void RemoveModel(const std::string& name);
  /// ACCEPTED or PONG said so: works without any announcement.
  void NoteVersion(const std::string& name, std::uint64_t version);
  std::vector<Socket*> sockets();  ///< to wait on
  void PollOnce(std::int64_t now_ns);  ///< bounded; retries a silent transfer after 1 s

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
