// Admin: how `murmurate status` and `stop` reach a live learner or shard, and `set`, `pause` and
// `unpause` a learner, which the live page asks the same and for checkpoints: one question, one
// answer, on a ROUTER at ipc://RUNTIME-FOLDER/admin (or shard-admin), which only the same user can
// open. ADMIN_OK holds at most 240 KiB (wire::kMaxReport); the status of some thousand actors is
// longer and comes in pieces: each text starts with '+' (ask "more") or '.' (the last piece).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/transport/socket.h"
#include "shared/wire/admin_messages.h"

namespace murmurate {

/// The learner's end; one thread.
class AdminServer {
 public:
  using Answer = std::function<wire::AdminOk(const std::string& command)>;
  static Result<AdminServer> Open(SocketContext& context, const std::string& address,
                                  Answer answer);

  Socket* socket() { return &socket_; }  ///< to wait on
  void PollOnce();                       ///< answers what has come, at most 16; never waits

 private:
  AdminServer(Socket socket, Answer answer)
      : socket_(std::move(socket)), answer_(std::move(answer)) {}
  wire::AdminOk AnswerTo(const PeerId& peer, const wire::Admin& admin);
  wire::AdminOk NextPiece(const PeerId& peer);

  Socket socket_;
  Answer answer_;
  std::map<PeerId, std::string> rest_;  ///< of long answers; at most 16
};

/// The asker's end: waits at most `timeout_ms`. kUnavailable without an answer.
Result<std::string> AskAdmin(const std::string& address, const std::string& command,
                             int timeout_ms);

/// In the runtime folder of a process: the socket of a learner; of a shard of a parameter server.
inline constexpr char kLearnerSocket[] = "admin", kShardSocket[] = "shard-admin";

/// The admin address of every live learner (or shard: `socket`) of this user, by process id.
std::vector<std::string> LiveAdminAddresses(const char* socket = kLearnerSocket);
/// The same, for a process that needs its runtime folder further.
std::vector<std::string> OtherAdminAddresses(const std::string& runtime_folder,
                                             const char* socket = kLearnerSocket);

}  // namespace murmurate
