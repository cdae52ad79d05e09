// Weights over the network: a 64-byte announcement on PUB/SUB (CONFLATE), the body pulled in 256
// KiB chunks on credit from ROUTER `weights`. A version in transfer is finished even when newer
// ones appear: the server keeps the newest and at most three older ones that players still pull
// (beyond that the oldest transfers begin again with the newest). Slow players skip versions;
// nothing is ever queued for them.
//
//   player                                       learner
//   PULL version 0, credit 10        ------->    a transfer of the newest version begins
//                                    <-------    CHUNK 0 ... CHUNK 9
//   (five arrived) PULL V, offset 5, credit 10   the window's end moves to chunk 15
//                                    <-------    CHUNK 10 ... CHUNK 14
//   each chunk goes on to mmr-weights as it lies; the last arrived: hash and preamble are right?
//   then it is played
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/transport/socket.h"
#include "shared/weights/weights.h"
#include "shared/wire/protocol.h"

namespace murmurate {

/// The learner's sockets for all its models; one thread, but for AddModel.
class NetworkWeightServer {
 public:
  /// Called with the name of a model before a PULL for its newest version is answered: a chance to
  /// publish.
  using BeforePull = std::function<void(const std::string& model)>;

  static Result<std::unique_ptr<NetworkWeightServer>> Open(SocketContext& context,
                                                           const std::string& announce_address,
                                                           const std::string& weights_address,
                                                           std::uint64_t incarnation);
  ~NetworkWeightServer();
  /// A publisher for one model, used by the server's thread; the server must outlive it. Any
  /// thread.
  std::unique_ptr<WeightPublisher> AddModel(const std::string& name, const ModelSpec& spec);
  /// Answers PULLs, and announces each model again every second for late players; bounded.
  /// Returns after `timeout_ms`, a message, or `signal`.
  void PollOnce(int timeout_ms, const WakeSignal* signal, const BeforePull& before_pull = {});
  std::string announce_address() const;
  std::string weights_address() const;

 private:
  struct State;
  explicit NetworkWeightServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The player's sockets for the models it fetches over the network; owned and polled by mmr-client.
/// Chunks are passed to the subscribers, which mmr-weights reads.
class NetworkWeightFetcher {
 public:
  /// `wake`: wakes the polling thread, called by the threads that take weights; with it,
  /// chunks are asked for as they are taken, without it as they come (Updates::kManual).
  NetworkWeightFetcher(SocketContext& context, std::uint64_t sender,
                       std::function<void()> wake = {});
  ~NetworkWeightFetcher();
  /// (Re)connects to the addresses of HELLO_OK; does nothing when none of the three changed.
  Status Connect(const std::string& announce_address, const std::string& weights_address,
                 std::uint64_t incarnation);
  /// Returns the same subscriber again for the same name and spec; for another spec a new one.
  std::shared_ptr<WeightSubscriber> AddModel(const std::string& name, const ModelSpec& spec);
  void RemoveModel(const std::string& name);
  /// Notes a version of which ACCEPTED or PONG told: works without any announcement.
  void NoteVersion(const std::string& name, std::uint64_t version);
  void Disconnect();                   ///< closes the sockets; nothing comes until the next Connect
  std::vector<Socket*> sockets();      ///< to wait on
  void PollOnce(std::int64_t now_ns);  ///< bounded; retries a silent transfer after 1 s
  /// Messages and whole versions that were not what was asked for (size, order; hash and preamble
  /// once they were taken).
  std::uint64_t refused() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
