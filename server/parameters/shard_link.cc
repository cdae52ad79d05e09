#include "server/parameters/shard_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

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
  std::unique_ptr<ShardLink> link(new ShardLink(std::move(*socket), std::move(options)));
  if (link->options_.places > 0 && IsLocalAddress(link->options_.address)) link->MakeSegment();
  return link;
}

void ShardLink::MakeSegment() {
  auto segment = ShardSegment::Create(floats(), static_cast<std::uint32_t>(options_.places));
  if (segment.ok()) segment_ = *std::move(segment);
  if (!segment.ok() && options_.log)
    options_.log(LogLevel::kWarning, segment.status().message() + "; blocks go in messages");
}

bool ShardLink::Send(const wire::Body& body, std::uint64_t sequence) {
  const wire::Encoded encoded = wire::Encode(body, options_.sender, sequence);
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  return socket_.TrySend(message) == SendOutcome::kSent;
}

bool ShardLink::SendPush(const Sent& sent, bool with_block, bool answered) {
  wire::Push push = sent.push;
  const std::uint32_t place = with_block ? sent.block->place() : 0;
  waits_in_segment_ = answers_ && answered;
  if (waits_in_segment_) {
    push.turn = ++turn_;
    if (place != 0 || !with_block) {
      segment_->Put({push, place});
      if (answers_->Sleeps()) bell_->Ring();
      return true;
    }
  }
  const auto bytes = with_block ? std::as_bytes(std::as_const(*sent.block).floats())
                                : std::span<const std::byte>();
  const wire::Encoded encoded = wire::Encode(push, options_.sender, push.step, bytes.size());
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  if (with_block)
    message.frames.emplace_back(bytes, [block = sent.block] {});
  else
    message.frames.emplace_back(bytes);
  return socket_.TrySend(message) == SendOutcome::kSent;
}

void ShardLink::SendJoin(std::int64_t now_ns) {
  asked_ns_ = now_ns;
  joined_ = false;
  wire::Join join = options_.join;
  const bool pulls = request_ && request_->push.step == 0;
  join.step = pulls && last_step_ > 0 ? last_step_ + 1 : last_step_;
  if (Shares()) {
    join.host = HostIdentity();
    join.segment = segment_->name();
  }
  (void)Send(join, 0);  // without a connection: again, soon
}

void ShardLink::Request(const wire::Push& push, std::shared_ptr<const Block> block,
                        std::int64_t now_ns) {
  MURMURATE_CHECK(!request_, "the request before is not answered");
  answer_.reset();
  request_ = Sent{push, std::move(block)};
  kept_ = nullptr;
  last_step_ = std::max(last_step_, push.step);
  heard_ns_ = now_ns;
  if (!joined_ || push.step == 0)
    SendJoin(now_ns);
  else if (!SendPush(*request_, true))
    joined_ = false;
}

bool ShardLink::MayKeep(std::uint64_t step) const {
  const std::uint64_t fit =
      options_.retain_bytes / std::max<std::size_t>(1, floats() * sizeof(float));
  return step > in_checkpoint_ && step - in_checkpoint_ <= 2 * fit;
}

void ShardLink::Keep() {
  if (!request_ || !MayKeep(request_->push.step)) return;
  kept_ = request_->block;
  if (kept_->place() == 0) return;
  auto copy = kept_pool_.Take();
  const std::span<const float> from = kept_->floats();
  (void)CopyFinite(copy->floats().data(), from, CopyKind::kPastCache);
  kept_ = std::move(copy);
}

std::optional<FutexWait> ShardLink::WaitForAnswer() const {
  if (!joined_ || !waits_in_segment_) return std::nullopt;
  return segment_->WaitForAnswer(turn_);
}

void ShardLink::Poll(std::int64_t now_ns) {
  if (const auto placed = waits_in_segment_ ? segment_->Answered(turn_) : std::nullopt) {
    heard_ns_ = now_ns;
    waits_in_segment_ = false;
    if (placed->place != 0) OnCenter(placed->center, placed->place, {});  // else in a message
  }
  Message message;
  while (!answer_ && socket_.TryReceive(&message)) OnMessage(std::move(message), now_ns);
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
  shard_ = header.sender;
  const bool may_be_mapped = unmapped_ != 0 && shard_ != unmapped_;
  if (may_be_mapped) unmapped_ = 0;
  if (const auto* joined = std::get_if<wire::Joined>(&body)) {
    if (may_be_mapped) return SendJoin(now_ns);  // the one it answers named no segment
    const bool maps_after_all = Shares() && !answers_ && !joined->segment.empty();
    if (!joined_ || maps_after_all) OnJoined(*joined);
  } else if (const auto* center = std::get_if<wire::Center>(&body)) {
    const bool awaited = again_ != 0 && center->step == again_;
    if (!answers_ || awaited || !message.frames[2].bytes().empty())  // else of one that came late
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
  waits_in_segment_ = false;
  if (!Map(joined)) return;  // and join without it, soon
  joined_ = true;
  if (!request_) return;
  // guard: Restarted.APullOfOneWithAnOlderCheckpointIsAnsweredWhenItHasWhatItLacked: a pull is not
  //   answered before the shard has the pushes that it lacks
  if (!joined.empty) return SendAfter(joined.step);
  retained_.clear();  // what they did is in the parameters that it gets now
  again_ = 0;
  wants_parameters_ = request_->push.step != 0;
  if (!wants_parameters_) brought_ = joined_ = SendPush(*request_, true);
}

/// False: there is a shard that has mapped our segment, but whose own cannot be reached.
bool ShardLink::Map(const wire::Joined& joined) {
  if (joined.segment.empty()) {
    answers_ = nullptr;
    return true;
  }
  // guard: MadeUpShard.ASecondAnswerToWhatNamedASegmentIsNoneToWhatNamesNone: a JOINED to an
  //   earlier JOIN is not an answer to one without a segment
  if (!Shares()) return false;  // to a JOIN that still named it
  if (answers_ && answers_->name() == joined.segment) return true;
  auto answers = ShardSegment::Open(joined.segment, floats(), ShardSegment::Access::kRead);
  auto bell = answers.ok() ? DoorbellButton::Open((*answers)->bell()) : answers.status();
  if (bell.ok()) {
    answers_ = *std::move(answers);
    bell_ = *std::move(bell);
    return true;
  }
  if (options_.log)
    options_.log(LogLevel::kWarning, bell.status().message() + "; blocks go in messages");
  answers_ = nullptr;
  unmapped_ = shard_;
  return false;
}

/// The first push after `step`, which the shard has. One at a time: a barrier takes no second one
/// of a worker before the first one's round is complete.
void ShardLink::SendAfter(std::uint64_t step) {
  const auto next = std::find_if(retained_.begin(), retained_.end(),
                                 [&](const Sent& sent) { return sent.push.step > step; });
  again_ = next == retained_.end() ? 0 : next->push.step;
  joined_ =
      again_ != 0 ? SendPush(*next, true, false) : SendPush(*request_, request_->push.step > step);
}

void ShardLink::Replenish(std::shared_ptr<const Block> block, std::int64_t now_ns) {
  wants_parameters_ = false;
  replenishing_ = true;
  heard_ns_ = now_ns;
  joined_ = SendPush({wire::Push{}, std::move(block)}, true);
}

void ShardLink::OnCenter(const wire::Center& center, std::uint32_t place, Frame frame) {
  in_checkpoint_ = std::max(in_checkpoint_, center.kept);
  while (!retained_.empty() && retained_.front().push.step <= center.kept) retained_.pop_front();
  if (!request_) return;
  if (replenishing_ && center.step == 0 && request_->push.step != 0) {
    replenishing_ = false;
    request_->push.pulled = center.version;
    joined_ = SendPush(*request_, true);
    return;
  }
  if (again_ != 0) {  // what was answered before may not end the request: it hides what is lacking
    if (center.step == again_) SendAfter(center.step);
    return;
  }
  if (center.step != request_->push.step || !TakeBlock(place, std::move(frame))) return;
  waits_in_segment_ = false;
  answer_ = center;
  Retain();
}

/// False: it is not of the right size.
bool ShardLink::TakeBlock(std::uint32_t place, Frame frame) {
  if (place != 0 && place <= answers_->places()) {
    block_ = answers_->place(place);
    return true;
  }
  frame_ = std::move(frame);
  const auto bytes = frame_.bytes();
  if (bytes.size() != floats() * sizeof(float)) {
    refusal_ = InvalidData(options_.address + ": expected " + std::to_string(floats()) +
                           " floats, got " + std::to_string(bytes.size()) + " bytes");
    return false;
  }
  block_ = {reinterpret_cast<const float*>(bytes.data()), floats()};
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
    if (aligned_.size() != floats()) aligned_ = AlignedFloats(floats());
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    block_ = aligned_;
  }
  return true;
}

/// Of the request that was answered.
void ShardLink::Retain() {
  const wire::Push push = std::exchange(request_, std::nullopt)->push;
  auto kept = std::exchange(kept_, nullptr);
  if (push.step != 0 && !MayKeep(push.step)) retained_.clear();
  if (push.step <= answer_->kept || !kept) return;
  retained_.push_back({push, std::move(kept)});
  while (retained_.size() * floats() * sizeof(float) > options_.retain_bytes) retained_.pop_front();
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

void ShardLink::SayBye() { (void)Send(wire::Bye{}, 0); }

}  // namespace murmurate
