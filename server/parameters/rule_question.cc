#include "server/parameters/rule_question.h"

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr std::int64_t kAskAgainNs = 250'000'000;

}  // namespace

RuleQuestion::RuleQuestion(std::string address, std::string model, std::size_t shards)
    : address_(std::move(address)), model_(std::move(model)), shards_(shards) {}
RuleQuestion::~RuleQuestion() = default;

Status RuleQuestion::Ask() {
  const std::int64_t now_ns = MonotonicNs();
  if (!socket_) {
    auto socket = Socket::Open(context_, SocketKind::kDealer);
    if (!socket.ok()) return socket.status();
    socket_ = *std::move(socket);
    MURMURATE_RETURN_IF_ERROR(socket_->Connect(address_));
  } else if (now_ns - asked_ns_ < kAskAgainNs) {
    return {};
  }
  asked_ns_ = now_ns;
  const wire::Encoded encoded = wire::Encode(wire::AskRule{model_}, RandomIdentity(), 0);
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  (void)socket_->TrySend(message);  // without a connection: again, soon
  return {};
}

Result<wire::ShardRule> RuleQuestion::Check(const wire::ShardRule& answer) const {
  if (answer.shards == shards_ && answer.shard == 0) return answer;
  return InvalidArgument(address_ + " is shard " + std::to_string(answer.shard) + " of " +
                         std::to_string(answer.shards) + ", and " + std::to_string(shards_) +
                         " addresses were given, of which this is the first: give those of all "
                         "shards, in the order of their numbers");
}

std::optional<Result<wire::ShardRule>> RuleQuestion::Poll(int timeout_ms) {
  if (Status asked = Ask(); !asked.ok()) return asked;
  Socket* const sockets[] = {&*socket_};
  (void)Poller(&signal_).Wait(sockets, timeout_ms);
  Message message;
  while (socket_->TryReceive(&message)) {
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    const auto decoded = wire::Decode(frames);
    const auto* const content = std::get_if<wire::Decoded>(&decoded);
    if (content == nullptr)
      return InvalidData(address_ + ": " + std::get<wire::DecodeFailure>(decoded).sentence);
    if (const auto* const rule = std::get_if<wire::ShardRule>(&content->body)) return Check(*rule);
    if (const auto* const error = std::get_if<wire::Error>(&content->body))
      return InvalidArgument(address_ + ": " + error->sentence +
                             "; give the address of a shard (murmurate params)");
  }
  return {};
}

}  // namespace murmurate
