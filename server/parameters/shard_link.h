// ShardLink: a worker's end of its talk with one shard (shard.h): one request at a time, sent until
// it is answered, through lost connections and a shard that is started again.
//
// A push that was answered is kept until the shard says that it is in a checkpoint (at most
// `retain_bytes` of them, the newest). A shard that comes back with an older state gets those it
// lacks, in order, before the one under way; one that comes back with nothing gets this worker's
// parameters, which hold them all, and wants_parameters() says so. The elastic rules keep none: an
// old x_i would pull the center back. None is kept either while those that would be lost all the
// same are more than those that fit: it would cost every exchange a pass over memory that no cache
// holds, for less than half of them.
//
// Where the shard has mapped this worker's segment (shard_segment.h), pushes and answers go through
// shared memory, and no message. What is kept is then a copy, so that the place is free for the
// next push and stays in the caches; Keep makes it while the shard works. A shard whose own segment
// cannot be mapped is asked for messages, for as long as it lives; the next one is asked for shared
// memory again.
//
// One thread. No call waits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/parameters/shard.h"
#include "shared/transport/doorbell.h"
#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

class ShardLink {
 public:
  struct Options {
    wire::Join join;           ///< who and what; `step` is filled in
    std::uint64_t sender = 0;  ///< the worker's random number
    std::string address;
    PartRange range;             ///< of the shard, as the worker counts it
    std::size_t statistics = 0;  ///< floats behind the range
    std::size_t retain_bytes = 0;
    std::size_t places = 0;  ///< of a segment of its own; 0: blocks go in messages
    LogCallback log;
  };

  /// Makes the segment, if the shard may be of this host and there is room; else says so and goes
  /// without.
  static Result<std::unique_ptr<ShardLink>> Open(SocketContext& context, Options options);

  /// Begins a request; the one before must be answered. `block`: range and statistics; of step 0
  /// the parameters, sent only if the shard has none. It is not written again until it comes back
  /// to its pool.
  void Request(const wire::Push& push, std::shared_ptr<const Block> block, std::int64_t now_ns);
  /// Once after each Request, when those to all shards are out.
  void Keep();
  /// Receives, and sends (again) what is due.
  void Poll(std::int64_t now_ns);

  bool answered() const { return answer_.has_value(); }
  /// Of the request that was answered last; the block is valid until the next Request.
  const wire::Center& center() const { return *answer_; }
  std::span<const float> block() const { return block_; }

  /// Cheap, and true as long as Poll would find the answer in the segment.
  bool IsAnsweredInSegment() const { return waits_in_segment_ && segment_->Answered(turn_); }
  /// What changes when the answer is there; nothing: it will come in a message.
  std::optional<FutexWait> WaitForAnswer() const;

  /// The pull that was answered last brought the parameters with which the model begins.
  bool began() const { return brought_ && answer_ && answer_->merged; }
  /// The shard was started again with nothing: Replenish, then the request goes on.
  bool wants_parameters() const { return wants_parameters_; }
  void Replenish(std::shared_ptr<const Block> block, std::int64_t now_ns);

  /// Not ok: it will never be answered, and why.
  const Status& refusal() const { return refusal_; }
  /// Something has come from the shard, in this life of it or an earlier one.
  bool heard() const { return shard_ != 0; }
  /// Since when nothing has been heard although a request is under way.
  std::int64_t silent_since_ns() const { return heard_ns_; }
  const Options& options() const { return options_; }
  Socket* socket() { return &socket_; }
  const std::shared_ptr<ShardSegment>& segment() const { return segment_; }  ///< null: none
  void SayBye();

 private:
  struct Sent {
    wire::Push push;
    std::shared_ptr<const Block> block;
  };

  ShardLink(Socket socket, Options options)
      : socket_(std::move(socket)), options_(std::move(options)), kept_pool_(floats()) {}
  std::size_t floats() const { return options_.range.count + options_.statistics; }
  void MakeSegment();
  bool Send(const wire::Body& body, std::uint64_t sequence);
  /// `answered`: somebody waits for its answer (not for that of one that was kept).
  bool SendPush(const Sent& sent, bool with_block, bool answered = true);
  void SendJoin(std::int64_t now_ns);
  void OnMessage(Message message, std::int64_t now_ns);
  void OnJoined(const wire::Joined& joined);
  bool MayKeep(std::uint64_t step) const;
  /// JOIN names this worker's segment.
  bool Shares() const { return segment_ && unmapped_ == 0; }
  bool Map(const wire::Joined& joined);
  /// `place`: of the shard's segment; 0: the block is in `frame`.
  void OnCenter(const wire::Center& center, std::uint32_t place, Frame frame);
  bool TakeBlock(std::uint32_t place, Frame frame);
  void OnError(const wire::Error& error, std::int64_t now_ns);
  void Retain();
  void SendAfter(std::uint64_t step);

  Socket socket_;
  const Options options_;
  std::shared_ptr<ShardSegment> segment_, answers_;  ///< this worker's; the shard's, when mapped
  std::unique_ptr<DoorbellButton> bell_;
  std::uint64_t shard_ = 0;     ///< incarnation of the one that was heard last
  std::uint64_t unmapped_ = 0;  ///< of the one whose segment cannot be mapped; 0: none is known
  BlockPool kept_pool_;
  bool joined_ = false, wants_parameters_ = false, replenishing_ = false;
  bool brought_ = false;           ///< the block of a pull was sent
  bool waits_in_segment_ = false;  ///< for the answer of turn_
  std::uint64_t turn_ = 0;         ///< of the PUSH that was sent last
  std::int64_t heard_ns_ = 0, asked_ns_ = INT64_MIN / 2;
  std::optional<Sent> request_;
  std::shared_ptr<const Block> kept_;  ///< the request's block, or a copy; null: it is not kept
  std::deque<Sent> retained_;
  std::uint64_t last_step_ = 0, in_checkpoint_ = 0;
  std::uint64_t again_ = 0;  ///< step of the retained push that is under way; 0: the request is
  std::int64_t busy_since_ns_ = 0;
  std::optional<wire::Center> answer_;
  Frame frame_;
  AlignedFloats aligned_;
  std::span<const float> block_;
  Status refusal_;
};

}  // namespace murmurate
