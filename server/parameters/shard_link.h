// ShardLink: a worker's end of its talk with one shard (shard.h): one request at a time, sent until
// it is answered, through lost connections and a shard that is started again.
//
// A push that was answered is kept until the shard says that it is in a checkpoint (at most
// `retain_bytes` of them, the newest). A shard that comes back with an older state gets those it
// lacks, in order, before the one under way; one that comes back with nothing gets this worker's
// parameters, which hold them all, and wants_parameters() says so. The elastic rules keep none: an
// old x_i would pull the center back.
//
// How messages and blocks go: shard_channel.h; what is kept of pushes: retained_pushes.h.
//
// One thread. No call waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/parameters/retained_pushes.h"
#include "server/parameters/shard.h"
#include "server/parameters/shard_channel.h"
#include "shared/transport/socket.h"
#include "shared/transport/wakeup.h"
#include "shared/wire/messages.h"

namespace murmurate {

class ShardLink {
 public:
  struct Options {
    wire::Join join;           ///< what JOIN says; `step` is filled in
    std::uint64_t sender = 0;  ///< the worker's random number
    std::string address;
    PartRange range;             ///< of the shard, as the worker counts it
    std::size_t statistics = 0;  ///< floats behind the range
    std::size_t retain_bytes = 0;
    std::size_t slots = 0;  ///< of a segment of its own; 0: blocks go in messages
    LogCallback log;
  };

  /// Makes the segment, if the shard may be of this host and there is room; else says so and goes
  /// without.
  static Result<std::unique_ptr<ShardLink>> Open(SocketContext& context, Options options);

  /// Begins a request; the one before must be answered. `block`: range and statistics; of step 0
  /// the parameters, sent only if the shard has none. It is not written again until it comes back
  /// to its pool.
  void Request(const wire::Push& push, std::shared_ptr<const Block> block, std::int64_t now_ns);
  /// To be called once after each Request, when those to all shards are out.
  void Keep();
  /// Receives, and sends (again) what is due.
  void Poll(std::int64_t now_ns);

  bool answered() const { return answer_.has_value(); }
  /// The answer to the request that was answered last; the block is valid until the next Request.
  const wire::Center& center() const { return *answer_; }
  std::span<const float> block() const { return channel_.block(); }

  /// The word that changes when the answer is there; nothing: it will come in a message.
  std::optional<FutexWait> WaitForAnswer() const {
    return joined_ ? channel_.WaitForAnswer() : std::nullopt;
  }

  /// Whether the pull that was answered last brought the parameters with which the model begins.
  bool began() const { return brought_ && answer_ && answer_->merged; }
  /// Whether the shard was started again with nothing: call Replenish, then the request goes on.
  bool wants_parameters() const { return wants_parameters_; }
  void Replenish(std::shared_ptr<const Block> block, std::int64_t now_ns);

  /// Not ok: the request will never be answered, and why.
  const Status& refusal() const { return refusal_; }
  /// Asks the shard, if a request is under way, which pushes it has: it may have been started again.
  void AskWhatItLacks(std::int64_t now_ns);
  /// False until it has said so and has been sent those it lacks of the pushes that were answered.
  bool lacks_nothing() const { return !request_ || (joined_ && retained_.again() == 0); }
  /// Whether something has come from the shard, in this life of it or an earlier one.
  bool heard() const { return channel_.heard(); }
  /// The time since which nothing has been heard although a request is under way.
  std::int64_t silent_since_ns() const { return heard_ns_; }
  const Options& options() const { return options_; }
  ShardChannel& channel() { return channel_; }
  void SayBye();

 private:
  ShardLink(Socket socket, const Options& options, std::size_t floats)
      : options_(options),
        channel_(std::move(socket), {options.address, options.sender, floats, options.log}),
        retained_(floats, options.retain_bytes) {}
  void SendJoin(std::int64_t now_ns);
  void OnMessage(Message message, std::int64_t now_ns);
  void OnJoined(const wire::Joined& joined);
  /// `slot`: of the shard's segment; 0: the block is in `frame`.
  void OnCenter(const wire::Center& center, std::uint32_t slot, Frame frame);
  void OnError(const wire::Error& error, std::int64_t now_ns);
  void SendAfter(std::uint64_t step);

  const Options options_;
  ShardChannel channel_;
  RetainedPushes retained_;
  bool joined_ = false, wants_parameters_ = false, replenishing_ = false;
  bool brought_ = false;  ///< the block of a pull was sent
  std::int64_t heard_ns_ = 0, asked_ns_ = INT64_MIN / 2;
  std::optional<SentPush> request_;
  std::uint64_t last_step_ = 0;
  std::int64_t busy_since_ns_ = 0;
  std::optional<wire::Center> answer_;
  Status refusal_;
};

}  // namespace murmurate
