#include "server/parameters/shard_link.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxBlockBytes = std::size_t{4} << 30;
constexpr std::int64_t kAskAgainNs = 250'000'000;
constexpr std::int64_t kBusyPatienceNs = 4'000'000'000;
constexpr std::int64_t kJoinAgainNs = 50'000'000;

}  // namespace

Result<std::unique_ptr<ShardLink>> ShardLink::Open(SocketContext& context, Options options) {
  SocketOptions socket_options;
  socket_options.max_message_bytes = kMaxBlockBytes;
  socket_options.linger_ms = 200;
  auto socket = Socket::Open(context, SocketKind::kDealer, socket_options);
  if (!socket.ok()) return socket.status();
  MURMURATE_RETURN_IF_ERROR(socket->Connect(options.address));
  std::unique_ptr<ShardLink> link(
      new ShardLink(std::move(*socket), options, options.range.count + options.statistics));
  if (link->options_.slots > 0 && IsLocalAddress(link->options_.address))
    link->channel_.MakeSegment(link->options_.slots);
  return link;
}

void ShardLink::SendJoin(std::int64_t now_ns) {
  asked_ns_ = now_ns;
  joined_ = false;
  wire::Join join = options_.join;
  const bool pulls = request_ && request_->push.step == 0;
  join.step = pulls && last_step_ > 0 ? last_step_ + 1 : last_step_;
  channel_.NameSegment(&join);
  (void)channel_.Send(join, 0);  // without a connection: again, soon
}

void ShardLink::Request(const wire::Push& push, std::shared_ptr<const Block> block,
                        std::int64_t now_ns) {
  MURMURATE_CHECK(!request_, "the request before is not answered");
  answer_.reset();
  request_ = SentPush{push, std::move(block)};
  retained_.Begin();
  last_step_ = std::max(last_step_, push.step);
  heard_ns_ = now_ns;
  if (!joined_ || push.step == 0)
    SendJoin(now_ns);
  else if (!channel_.SendPush(*request_, true))
    joined_ = false;
}

void ShardLink::Keep() {
  if (request_) retained_.Keep(*request_);
}

void ShardLink::Poll(std::int64_t now_ns) {
  if (const auto placed = channel_.PopAnswered()) {
    heard_ns_ = now_ns;
    if (placed->slot != 0) OnCenter(placed->center, placed->slot, {});  // else in a message
  }
  Message message;
  while (!answer_ && channel_.socket()->TryReceive(&message)) OnMessage(std::move(message), now_ns);
  if (!request_ || !refusal_.ok() || wants_parameters_) return;
  const std::int64_t patience_ns = joined_ ? kAskAgainNs : kJoinAgainNs;
  if (now_ns - std::max(asked_ns_, joined_ ? heard_ns_ : INT64_MIN) >= patience_ns)
    SendJoin(now_ns);
}

void ShardLink::OnMessage(Message message, std::int64_t now_ns) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  auto decoded = wire::Decode(frames);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
    refusal_ = InvalidData(options_.address + ": " + failure->sentence);
    return;
  }
  heard_ns_ = now_ns;
  const auto& [header, body, block] = std::get<wire::Decoded>(decoded);
  const bool may_be_mapped = channel_.NoteShard(header.sender);
  if (const auto* joined = std::get_if<wire::Joined>(&body)) {
    if (may_be_mapped) return SendJoin(now_ns);  // the one it answers named no segment
    if (!joined_ || channel_.WouldMap(*joined)) OnJoined(*joined);
  } else if (const auto* center = std::get_if<wire::Center>(&body)) {
    const bool awaited = retained_.again() != 0 && center->step == retained_.again();
    if (!channel_.mapped() || awaited ||
        !message.frames[2].bytes().empty())  // else of one that came late
      OnCenter(*center, 0, std::move(message.frames[2]));
  } else if (const auto* error = std::get_if<wire::Error>(&body)) {
    OnError(*error, now_ns);
  }
}

void ShardLink::OnJoined(const wire::Joined& joined) {
  if (joined.begin != options_.range.begin || joined.count != options_.range.count) {
    refusal_ = InvalidArgument(options_.address + " has the parameters from " +
                               std::to_string(joined.begin) + ", " + std::to_string(joined.count) +
                               " of them; expected from " + std::to_string(options_.range.begin) +
                               ", " + std::to_string(options_.range.count) +
                               ": give both sides the same parameters.shards");
    return;
  }
  channel_.StopWaiting();
  if (!channel_.Map(joined)) return;  // and join without it, soon
  joined_ = true;
  busy_since_ns_ = 0;
  if (!request_) return;
  // guard: Restarted.APullOfOneWithAnOlderCheckpointIsAnsweredWhenItHasWhatItLacked: a pull is not
  //   answered before the shard has the pushes that it lacks
  if (!joined.empty) return SendAfter(joined.step);
  retained_.Clear();  // what they did is in the parameters that it gets now
  wants_parameters_ = request_->push.step != 0;
  if (!wants_parameters_) brought_ = joined_ = channel_.SendPush(*request_, true);
}

/// The first push after `step`, which the shard has. One at a time: a barrier takes no second one
/// of a worker before the first one's round is complete.
void ShardLink::SendAfter(std::uint64_t step) {
  const SentPush* const next = retained_.SendAfter(step);
  joined_ = next != nullptr ? channel_.SendPush(*next, true, false)
                            : channel_.SendPush(*request_, request_->push.step > step);
}

void ShardLink::Replenish(std::shared_ptr<const Block> block, std::int64_t now_ns) {
  wants_parameters_ = false;
  replenishing_ = true;
  heard_ns_ = now_ns;
  joined_ = channel_.SendPush({wire::Push{}, std::move(block)}, true);
}

void ShardLink::OnCenter(const wire::Center& center, std::uint32_t slot, Frame frame) {
  retained_.DropUpTo(center.kept);
  if (!request_) return;
  if (replenishing_ && center.step == 0 && request_->push.step != 0) {
    replenishing_ = false;
    request_->push.pulled = center.version;
    joined_ = channel_.SendPush(*request_, true);
    return;
  }
  if (retained_.again() !=
      0) {  // what was answered before may not end the request: it hides what is lacking
    if (center.step == retained_.again()) SendAfter(center.step);
    return;
  }
  if (center.step != request_->push.step) return;
  if (Status status = channel_.ReceiveBlock(slot, std::move(frame)); !status.ok()) {
    refusal_ = std::move(status);
    return;
  }
  channel_.StopWaiting();
  answer_ = center;
  retained_.Retain(std::exchange(request_, std::nullopt)->push, center.kept);
}

void ShardLink::OnError(const wire::Error& error, std::int64_t now_ns) {
  if (error.refusal == wire::Refusal::kNotRegistered) {
    if (joined_) SendJoin(now_ns);
    return;
  }
  if (error.refusal == wire::Refusal::kBusy) {  // one that died with this number is not yet missed
    if (busy_since_ns_ == 0) busy_since_ns_ = now_ns;
    if (now_ns - busy_since_ns_ < kBusyPatienceNs) return;
  }
  refusal_ = InvalidArgument(options_.address + ": " + error.sentence);
}

void ShardLink::AskWhatItLacks(std::int64_t now_ns) {
  if (request_ && heard()) SendJoin(now_ns);
}

void ShardLink::SayBye() { (void)channel_.Send(wire::Bye{}, 0); }

}  // namespace murmurate
