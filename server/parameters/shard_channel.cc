#include "server/parameters/shard_channel.h"

#include <cstring>
#include <utility>

namespace murmurate {

void ShardChannel::MakeSegment(std::size_t slots) {
  auto segment = ShardSegment::Create(options_.floats, static_cast<std::uint32_t>(slots));
  if (segment.ok()) segment_ = *std::move(segment);
  if (!segment.ok() && options_.log)
    options_.log(LogLevel::kWarning, segment.status().message() + "; blocks go in messages");
}

bool ShardChannel::Send(const wire::Body& body, std::uint64_t sequence) {
  const wire::Encoded encoded = wire::Encode(body, options_.sender, sequence);
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  return socket_.TrySend(message) == SendOutcome::kSent;
}

bool ShardChannel::SendPush(const SentPush& sent, bool with_block, bool answered) {
  wire::Push push = sent.push;
  const std::uint32_t slot = with_block ? sent.block->slot() : 0;
  waits_ = answers_ && answered;
  if (waits_) {
    push.turn = ++turn_;
    if (slot != 0 || !with_block) {
      segment_->Put({push, slot});
      if (answers_->Sleeps()) wakeup_->Notify();
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

void ShardChannel::NameSegment(wire::Join* join) const {
  if (!Shares()) return;
  join->host = HostIdentity();
  join->segment = segment_->name();
}

bool ShardChannel::NoteShard(std::uint64_t incarnation) {
  shard_ = incarnation;
  const bool may_be_mapped = unmapped_ != 0 && shard_ != unmapped_;
  if (may_be_mapped) unmapped_ = 0;
  return may_be_mapped;
}

bool ShardChannel::Map(const wire::Joined& joined) {
  if (joined.segment.empty()) {
    answers_ = nullptr;
    return true;
  }
  // guard: MadeUpShard.ASecondAnswerToWhatNamedASegmentIsNoneToWhatNamesNone: a JOINED to an
  //   earlier JOIN is not an answer to one without a segment
  if (!Shares()) return false;  // to a JOIN that still named it
  if (answers_ && answers_->name() == joined.segment) return true;
  auto answers = ShardSegment::Open(joined.segment, options_.floats, ShardSegment::Access::kRead);
  auto wakeup = answers.ok() ? WakeupSender::Open((*answers)->wakeup()) : answers.status();
  if (wakeup.ok()) {
    answers_ = *std::move(answers);
    wakeup_ = *std::move(wakeup);
    return true;
  }
  if (options_.log)
    options_.log(LogLevel::kWarning, wakeup.status().message() + "; blocks go in messages");
  answers_ = nullptr;
  unmapped_ = shard_;
  return false;
}

std::optional<CenterInSlot> ShardChannel::PopAnswered() {
  auto placed = waits_ ? segment_->Answered(turn_) : std::nullopt;
  if (placed) waits_ = false;
  return placed;
}

std::optional<FutexWait> ShardChannel::WaitForAnswer() const {
  if (!waits_) return std::nullopt;
  return segment_->WaitForAnswer(turn_);
}

Status ShardChannel::ReceiveBlock(std::uint32_t slot, Frame frame) {
  if (slot != 0 && slot <= answers_->slots()) {
    block_ = answers_->slot(slot);
    return {};
  }
  frame_ = std::move(frame);
  const auto bytes = frame_.bytes();
  if (bytes.size() != options_.floats * sizeof(float))
    return InvalidData(options_.address + ": expected " + std::to_string(options_.floats) +
                       " floats, got " + std::to_string(bytes.size()) + " bytes");
  block_ = {reinterpret_cast<const float*>(bytes.data()), options_.floats};
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
    if (aligned_.size() != options_.floats) aligned_ = AlignedFloats(options_.floats);
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    block_ = aligned_;
  }
  return {};
}

}  // namespace murmurate
