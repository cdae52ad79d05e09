// Publishing is what mmr-publish repeats: take each model's newest Snapshot, put it into shared
// memory and onto the network. Learning threads post and go on; a snapshot not yet published when a
// newer one comes is skipped. A model with a segment is put onto the network only while a player
// pulls it there (in the last minute, or just now): copy and hash of a large model would cost the
// same-host players their processor.
#pragma once

#include <memory>
#include <string>

#include "murmurate/log.h"
#include "shared/weights/network_weights.h"
#include "shared/weights/weights.h"

namespace murmurate {

class Publishing {
 public:
  struct Options {
    std::string announce_address, weights_address;  ///< as SisterAddresses gives them
    std::string run = "serve";
    std::uint64_t incarnation = 0;
    bool shm = true;
    LogCallback log;
  };
  static Result<std::unique_ptr<Publishing>> Open(SocketContext& context, Options options);
  ~Publishing();

  /// Any thread. Creates the model's segment; its name, or "" when shm is off or could not be made
  /// (logged: the network path serves then). kResource only when `require_shm`.
  Result<std::string> AddModel(const std::string& model, const ModelSpec& spec, bool require_shm);
  void Post(const std::string& model, std::shared_ptr<const Snapshot> snapshot);  ///< any thread
  void PollOnce(int timeout_ms);  ///< the publishing thread: one bounded round
  void Wake();

  std::string announce_address() const;
  std::string weights_address() const;

 private:
  struct State;
  explicit Publishing(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
