// RuleQuestion: asks the first shard of a model which rule its workers follow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "murmurate/status.h"
#include "shared/transport/socket.h"
#include "shared/wire/shard_messages.h"

namespace murmurate {

class RuleQuestion {
 public:
  /// `shards`: how many addresses the worker has.
  RuleQuestion(std::string address, std::string model, std::size_t shards);
  ~RuleQuestion();

  /// Asks when it is time, and waits for the answer for at most `timeout_ms`. Nothing: not yet.
  /// kInvalidArgument: the shards are others than the worker's list says.
  std::optional<Result<wire::ShardRule>> Poll(int timeout_ms);
  /// Any thread: a Poll that waits returns soon.
  void Wake() { signal_.Set(); }

 private:
  Status Ask();
  Result<wire::ShardRule> Check(const wire::ShardRule& answer) const;

  const std::string address_, model_;
  const std::size_t shards_;
  SocketContext context_;
  std::optional<Socket> socket_;
  WakeSignal signal_;
  std::int64_t asked_ns_ = 0;
};

}  // namespace murmurate
