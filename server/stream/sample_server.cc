#include "server/stream/sample_server.h"

#include <algorithm>
#include <utility>

namespace murmurate {
namespace {

using WireRefusal = wire::Refusal;

constexpr int kRejectsPerMinute = 20;
constexpr int kGreetingsPerMinute = 20;  ///< each tells all that is committed

/// True: a peer that sends much of it is not listened to.
bool IsNonsense(WireRefusal refusal) {
  switch (refusal) {
    case WireRefusal::kMalformed:
    case WireRefusal::kUnknownType:
    case WireRefusal::kCredit:
    case WireRefusal::kSequence:
    case WireRefusal::kMeaning:
    case WireRefusal::kNotFinite:
    case WireRefusal::kTooLarge:
      return true;
    default:
      return false;
  }
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Why a peer with these expectations is in the wrong place; "" if it is not.
std::string Mismatch(const SampleServerSettings& settings, const wire::StreamHello& hello) {
  if (!hello.stream.empty() && hello.stream != settings.stream)
    return "this address is of stream " + settings.stream + ", not of " + hello.stream +
           ": connect to that one's, or ask for " + settings.stream;
  std::vector<std::string> fields;
  for (const FieldSettings& field : settings.fields) fields.push_back(field.name);
  if (hello.fields.empty() || hello.fields == fields) return "";
  return "stream " + settings.stream + " has the fields " + Listed(fields) + ", not " +
         Listed(hello.fields) + ": send these, in this order";
}

wire::StreamOk WelcomeOf(const SampleServerSettings& settings, std::uint64_t incarnation,
                         std::uint32_t number) {
  wire::StreamOk ok{incarnation, number, settings.credit, settings.stream, {}, {}, {}, {}, true};
  for (const FieldSettings& field : settings.fields) ok.fields.push_back(field.name);
  for (const int target : settings.forecast.targets)
    ok.targets.push_back(static_cast<std::uint32_t>(target));
  for (const int horizon : settings.forecast.horizons)
    ok.horizons.push_back(static_cast<std::uint32_t>(horizon));
  ok.quantiles = settings.forecast.quantiles;
  return ok;
}

}  // namespace

Result<std::unique_ptr<SampleServer>> SampleServer::Open(SampleServerSettings settings,
                                                         SampleEvents events,
                                                         std::function<std::int64_t()> now_ns) {
  auto socket = SampleSocket::Open(settings.address);
  if (!socket.ok()) return socket.status();
  return std::unique_ptr<SampleServer>(new SampleServer(std::move(settings), std::move(events),
                                                        std::move(now_ns), *std::move(socket)));
}

SampleServer::SampleServer(SampleServerSettings settings, SampleEvents events,
                           std::function<std::int64_t()> now_ns,
                           std::unique_ptr<SampleSocket> socket)
    : settings_(std::move(settings)),
      events_(std::move(events)),
      now_ns_(std::move(now_ns)),
      socket_(std::move(socket)),
      reader_(settings_.fields),
      peers_(settings_.max_peers, kRoomNs),
      answers_(settings_.forecast, [this](const AnswerQueue::Asked& asked,
                                          const wire::Body& body) { Answer(asked, body); }),
      news_(static_cast<std::size_t>(settings_.forecast.max_devices)),
      greetings_(kGreetingsPerMinute),
      rejects_(kRejectsPerMinute) {}

void SampleServer::ReceiveSome() {
  for (int i = 0; i < kMostMessages && socket_->TryReceive(&message_); ++i) Hear();
}

/// The cheapest refusals first: nothing is decoded of who may not send it.
void SampleServer::Hear() {
  if (rejects_.Muted(message_.peer, now_ns_())) return;
  frames_.clear();
  for (const Frame& frame : message_.frames) frames_.push_back(frame.bytes());
  const auto header = wire::PeekHeader(frames_);
  if (!header)
    return Reject(WireRefusal::kMalformed, "expected a header of 32 bytes that starts with MMR1",
                  0);
  SamplePeer* const peer = peers_.Find(message_.peer);
  if (peer != nullptr && peer->sender == header->sender) return HearKnown(peer, *header);
  if (header->type != wire::StreamHello::kRow.type)
    return Reject(WireRefusal::kNotRegistered,
                  "this client is not known here: send STREAM_HELLO first", header->sequence);
  const auto decoded = wire::Decode(frames_);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded))
    return Reject(failure->refusal, failure->sentence, 0);
  Greet(std::get<wire::StreamHello>(std::get<wire::Decoded>(decoded).body), *header);
}

void SampleServer::HearKnown(SamplePeer* peer, const wire::Header& header) {
  peer->heard_ns = now_ns_();
  const bool is_sample = header.type == wire::Sample::kRow.type;
  const std::uint64_t number = is_sample ? header.sequence : 0;
  if (is_sample && number != peer->last_number + 1)
    return Reject(WireRefusal::kSequence,
                  "expected sample " + std::to_string(peer->last_number + 1) + ", got " +
                      std::to_string(number),
                  number);
  if (is_sample) peer->last_number = number;
  if (is_sample && peer->unanswered >= settings_.credit)
    return Reject(
        WireRefusal::kCredit,
        "more than " + std::to_string(settings_.credit) + " samples wait for their answers",
        number);
  const auto decoded = wire::Decode(frames_);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded))
    return Reject(failure->refusal, failure->sentence, number);
  const wire::Body& body = std::get<wire::Decoded>(decoded).body;
  if (const auto* sample = std::get_if<wire::Sample>(&body)) {
    ++peer->unanswered;
    ReceiveSample(*sample, {message_.peer, peer->session, number, peer->doubles});
  } else if (const auto* hello = std::get_if<wire::StreamHello>(&body)) {
    Greet(*hello, header);
  } else if (const auto* ping = std::get_if<wire::Ping>(&body)) {
    (void)socket_->Send(message_.peer, wire::Pong{ping->sent_ns, socket_->incarnation(), {}}, 0);
  } else if (std::holds_alternative<wire::Bye>(body)) {
    peers_.Erase(message_.peer);
  } else {
    Reject(WireRefusal::kUnknownType, "a stream takes samples, and nothing else", 0);
  }
}

void SampleServer::Greet(const wire::StreamHello& hello, const wire::Header& header) {
  if (hello.min_major > wire::kMajor || hello.max_major < wire::kMajor)
    return Reject(WireRefusal::kVersion,
                  "this side speaks protocol version " + std::to_string(wire::kMajor) +
                      " only: update the older of the two programs",
                  0);
  if (const std::string why = Mismatch(settings_, hello); !why.empty())
    return Reject(WireRefusal::kSpaces, why, 0);
  const SamplePeer* const known = peers_.Find(message_.peer);
  const bool waits = known != nullptr && known->telling.greeting && known->telling.told == 0;
  const std::int64_t now_ns = now_ns_();
  if (!waits && (greetings_.Muted(message_.peer, now_ns) || greetings_.Note(message_.peer, now_ns)))
    return Reject(WireRefusal::kBusy,
                  "STREAM_HELLO came more than " + std::to_string(kGreetingsPerMinute) +
                      " times in a minute: say it once, and again when you are not known",
                  0);
  SamplePeer* const peer = peers_.Begin(message_.peer, now_ns);
  if (peer == nullptr)
    return Reject(WireRefusal::kBusy,
                  "as many clients are here as may be (" + std::to_string(settings_.max_peers) +
                      "): send for several devices over one connection",
                  0);
  peer->sender = header.sender;
  peer->last_number = hello.sequence;
  peer->doubles = hello.doubles;
  news_.Greet(&peer->telling);
  (void)socket_->Send(message_.peer, WelcomeOf(settings_, socket_->incarnation(), hello.number), 0);
}

void SampleServer::ReceiveSample(const wire::Sample& sample, const AnswerQueue::Asked& asked) {
  ++counters_.samples;
  SampleOutcome outcome{reader_.Read(sample)};
  const murmurate::Sample& read = reader_.sample();
  if (outcome.refusal == Refusal::kNone) {
    answers_.BeginSample(read.device);
    outcome = events_.take(read);
  } else {
    events_.refused(outcome.refusal);
  }
  if (outcome.refusal == Refusal::kNone || outcome.refusal == Refusal::kDuplicate)
    news_.Own(read.device, asked.peer);
  answers_.EndSample(read.device, outcome, asked);
}

void SampleServer::Answer(const AnswerQueue::Asked& asked, const wire::Body& body) {
  SamplePeer* const peer = peers_.Find(asked.peer);
  const bool there = peer != nullptr && peer->session == asked.session;
  if (there && peer->unanswered > 0) --peer->unanswered;
  if (there && socket_->Send(asked.peer, body, asked.number) == SendOutcome::kSent) {
    ++counters_.answers;
    return;
  }
  ++counters_.unanswered;
  if (there) peers_.Erase(asked.peer);  // it must know that it has missed one
}

void SampleServer::Reject(wire::Refusal refusal, const std::string& sentence,
                          std::uint64_t number) {
  ++counters_.refused[static_cast<std::size_t>(refusal)];
  (void)socket_->Send(message_.peer, wire::Error{refusal, sentence, number}, number);
  if (IsNonsense(refusal) && rejects_.Note(message_.peer, now_ns_())) peers_.Erase(message_.peer);
}

std::vector<std::pair<std::string, std::uint64_t>> SampleServer::RefusedMessages() const {
  std::vector<std::pair<std::string, std::uint64_t>> refused;
  for (std::size_t i = 1; i < counters_.refused.size(); ++i)
    if (const std::uint64_t count = counters_.refused[i]; count > 0)
      refused.emplace_back(std::string("wire-") + wire::RefusalName(static_cast<WireRefusal>(i)),
                           count);
  return refused;
}

void SampleServer::EndRound() {
  const std::int64_t now_ns = now_ns_();
  const bool look = now_ns >= next_look_ns_;
  if (news_.waiting() || look) {
    news_.BeginRound();
    for (auto peer = peers_.all().begin(); peer != peers_.all().end();)
      peer = news_.TellSome(peer->first, &peer->second.telling, socket_.get())
                 ? std::next(peer)
                 : peers_.all().erase(peer);
  }
  if (!look) return;
  next_look_ns_ = now_ns + kNanosecondsPerSecond;
  rejects_.ForgetOld(now_ns);
  greetings_.ForgetOld(now_ns);
  peers_.EraseSilent(now_ns, kIdleNs);
}

void SampleServer::SayGoodbye() {
  for (const auto& [id, peer] : peers_.all())
    (void)socket_->Send(id, wire::Goaway{"the learner ends", 0, false}, 0);
  peers_.all().clear();
}

}  // namespace murmurate
