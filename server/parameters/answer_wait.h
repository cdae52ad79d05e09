// AnswerWait: the learner's thread waits here until every shard has answered, or has refused.
//
// It polls shared memory for an answer for at most 0.2 ms, giving way to other threads of this
// core, as long as the last one came within that; then it sleeps until one comes. Once a second has
// passed the log says for which shard it waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "server/parameters/remote_settings.h"
#include "server/parameters/shard_piece.h"
#include "shared/transport/wakeup.h"

namespace murmurate {

class AnswerWait {
 public:
  /// A block with this worker's parameters, for a shard that was started again with nothing.
  using Fill = std::function<std::shared_ptr<Block>(ShardPiece&)>;

  /// The callbacks must outlive this.
  explicit AnswerWait(const RemoteCallbacks& callbacks) : callbacks_(callbacks) {}

  /// Waits until every shard has answered; false: interrupted or failed, or the deadline is over.
  bool Wait(std::span<ShardPiece> pieces, const Fill& fill);
  /// A refusal is final; the first goes to RemoteCallbacks::failed.
  void Fail(const Status& refusal);
  bool failed() const { return failed_; }
  /// Seconds waited since the last call.
  double PopSeconds() { return std::exchange(waited_s_, 0.0); }

  /// MonotonicNs at which the next waits end without an answer; INT64_MAX, as it begins: never.
  void SetDeadline(std::int64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  /// Ends every wait, now and from now on. Any thread.
  void Interrupt();
  bool interrupted() const { return interrupted_ != 0; }

 private:
  bool PollLinks(std::span<ShardPiece> pieces, const Fill& fill);
  void Rest(std::span<ShardPiece> pieces);
  void SaySilence(std::span<ShardPiece> pieces, std::int64_t now_ns);

  const RemoteCallbacks& callbacks_;
  WakeSignal signal_;
  FutexWord interrupted_{0};
  bool failed_ = false, said_silent_ = false;
  bool looks_help_ = true;  ///< the last answer came soon enough for polling
  std::int64_t deadline_ns_ = INT64_MAX;
  double waited_s_ = 0.0;
};

}  // namespace murmurate
