#include "server/stream/sample_server.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/stream/due_time.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

using WireRefusal = wire::Refusal;

constexpr int kRejectsPerMinute = 20;
constexpr int kGreetingsPerMinute = 20;  ///< each tells all that is committed
constexpr int kMostTold = 16;            ///< messages of one round to one peer
constexpr int kLingerMs = 200;
constexpr int kHighWaterMark = 1024;  ///< a backstop: credit bounds what waits
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Who sends much of it is not listened to.
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

/// The draft's rules are those of a FlatBuffer that names its device.
PayloadSettings RulesOf(const std::vector<FieldSettings>& fields) {
  PayloadSettings rules;
  rules.format = PayloadFormat::kFlatBuffer;
  rules.fields = fields;
  rules.device = "device";
  return rules;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Result<std::unique_ptr<SampleServer>> SampleServer::Open(SampleServerSettings settings,
                                                         SampleEvents events,
                                                         std::function<std::int64_t()> now_ns) {
  auto context = std::make_unique<SocketContext>();
  SocketOptions options;
  options.max_message_bytes = wire::kMaxGreetingBytes + wire::kHeaderBytes;
  options.high_water_mark = kHighWaterMark;
  options.linger_ms = kLingerMs;
  auto socket = Socket::Open(*context, SocketKind::kRouter, options);
  if (!socket.ok()) return socket.status();
  if (Status status = socket->Bind(settings.address); !status.ok()) {
    if (status.code() != StatusCode::kAlreadyRunning) return status;
    return Status(status.code(), "another program listens on " + settings.address +
                                     "; stop it, or choose another address with listen");
  }
  return std::unique_ptr<SampleServer>(new SampleServer(std::move(settings), std::move(events),
                                                        std::move(now_ns), std::move(context),
                                                        *std::move(socket)));
}

SampleServer::SampleServer(SampleServerSettings settings, SampleEvents events,
                           std::function<std::int64_t()> now_ns,
                           std::unique_ptr<SocketContext> context, Socket socket)
    : settings_(std::move(settings)),
      events_(std::move(events)),
      now_ns_(std::move(now_ns)),
      incarnation_(RandomIdentity()),
      context_(std::move(context)),
      socket_(std::move(socket)),
      draft_(RulesOf(settings_.fields)),
      greetings_(kGreetingsPerMinute),
      rejects_(kRejectsPerMinute) {}

void SampleServer::Wait(int timeout_ms) {
  Socket* const sockets[] = {&socket_};
  (void)Poller(&wake_).Wait(sockets, timeout_ms);
}

void SampleServer::TakeSome() {
  for (int i = 0; i < kMostMessages && socket_.TryReceive(&message_); ++i) Hear();
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
  const auto found = peers_.find(message_.peer);
  const bool known = found != peers_.end() && found->second.sender == header->sender;
  if (known) return HearKnown(&found->second, *header);
  if (header->type != wire::StreamHello::kRow.type)
    return Reject(WireRefusal::kNotRegistered, "nobody knows you here: say STREAM_HELLO first",
                  header->sequence);
  const auto decoded = wire::Decode(frames_);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded))
    return Reject(failure->refusal, failure->sentence, 0);
  Greet(std::get<wire::StreamHello>(std::get<wire::Decoded>(decoded).body), *header);
}

void SampleServer::HearKnown(Peer* peer, const wire::Header& header) {
  peer->heard_ns = now_ns_();
  const bool is_sample = header.type == wire::Sample::kRow.type;
  if (is_sample && !MayTake(peer, header.sequence)) return;
  const std::uint64_t number = is_sample ? header.sequence : 0;
  const auto decoded = wire::Decode(frames_);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded))
    return Reject(failure->refusal, failure->sentence, number);
  const wire::Body& body = std::get<wire::Decoded>(decoded).body;
  if (const auto* sample = std::get_if<wire::Sample>(&body)) {
    ++peer->unanswered;
    TakeSample(*sample, {message_.peer, peer->session, number, peer->doubles});
  } else if (const auto* hello = std::get_if<wire::StreamHello>(&body)) {
    Greet(*hello, header);
  } else if (const auto* ping = std::get_if<wire::Ping>(&body)) {
    (void)Send(message_.peer, wire::Pong{ping->sent_ns, incarnation_, {}}, 0);
  } else if (std::holds_alternative<wire::Bye>(body)) {
    peers_.erase(message_.peer);
  } else {
    Reject(WireRefusal::kUnknownType, "a stream takes samples, and nothing else", 0);
  }
}

bool SampleServer::MayTake(Peer* peer, std::uint64_t number) {
  if (number != peer->last_number + 1) {
    Reject(WireRefusal::kSequence,
           "expected sample " + std::to_string(peer->last_number + 1) + ", got " +
               std::to_string(number),
           number);
    return false;
  }
  peer->last_number = number;
  if (peer->unanswered < settings_.credit) return true;
  Reject(WireRefusal::kCredit,
         "more than " + std::to_string(settings_.credit) + " samples wait for their answers",
         number);
  return false;
}

std::string SampleServer::Mismatch(const wire::StreamHello& hello) const {
  if (!hello.stream.empty() && hello.stream != settings_.stream)
    return "this address is of stream " + settings_.stream + ", not of " + hello.stream +
           ": connect to that one's, or ask for " + settings_.stream;
  std::vector<std::string> fields;
  for (const FieldSettings& field : settings_.fields) fields.push_back(field.name);
  if (hello.fields.empty() || hello.fields == fields) return "";
  return "stream " + settings_.stream + " has the fields " + Listed(fields) + ", not " +
         Listed(hello.fields) + ": send these, in this order";
}

void SampleServer::Greet(const wire::StreamHello& hello, const wire::Header& header) {
  if (hello.min_major > wire::kMajor || hello.max_major < wire::kMajor)
    return Reject(WireRefusal::kVersion,
                  "this side speaks protocol version " + std::to_string(wire::kMajor) +
                      " only: update the older of the two programs",
                  0);
  if (const std::string why = Mismatch(hello); !why.empty())
    return Reject(WireRefusal::kSpaces, why, 0);
  const auto known = peers_.find(message_.peer);
  const bool waits = known != peers_.end() && known->second.greeting && known->second.told == 0;
  const std::int64_t now_ns = now_ns_();
  if (!waits && (greetings_.Muted(message_.peer, now_ns) || greetings_.Note(message_.peer, now_ns)))
    return Reject(WireRefusal::kBusy,
                  "STREAM_HELLO came more than " + std::to_string(kGreetingsPerMinute) +
                      " times in a minute: say it once, and again when you are not known",
                  0);
  if (known == peers_.end() && !MakeRoom())
    return Reject(WireRefusal::kBusy,
                  "as many clients are here as may be (" + std::to_string(settings_.max_peers) +
                      "): send for several devices over one connection",
                  0);
  Peer& peer = peers_[message_.peer];
  peer = {header.sender, ++sessions_, hello.sequence, 0, hello.doubles, now_ns, true, {}, 0};
  has_news_ = true;
  wire::StreamOk ok{incarnation_, hello.number, settings_.credit, settings_.stream, {}, {}, {},
                    {},           true};
  for (const FieldSettings& field : settings_.fields) ok.fields.push_back(field.name);
  for (const int target : settings_.forecast.targets)
    ok.targets.push_back(static_cast<std::uint32_t>(target));
  for (const int horizon : settings_.forecast.horizons)
    ok.horizons.push_back(static_cast<std::uint32_t>(horizon));
  ok.quantiles = settings_.forecast.quantiles;
  (void)Send(message_.peer, ok, 0);
}

/// For one more.
bool SampleServer::MakeRoom() {
  if (peers_.size() < settings_.max_peers) return true;
  const auto silent =
      std::ranges::min_element(peers_, {}, [](const auto& entry) { return entry.second.heard_ns; });
  if (now_ns_() - silent->second.heard_ns < kRoomNs) return false;
  peers_.erase(silent);
  return true;
}

/// Into sample_, by the rules for all formats.
Refusal SampleServer::Read(const wire::Sample& sample) {
  draft_.Begin(&sample_);
  if (sample.values.size() != draft_.fields()) return Refusal::kMalformed;
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    draft_.PutDecimal(static_cast<int>(i), sample.values[i], "");
  if (sample.time_ns < 0) return Refusal::kBadTime;
  draft_.PutInteger(kTimeSlot, static_cast<std::uint64_t>(sample.time_ns));
  if (sample.sequence) draft_.PutInteger(kSequenceSlot, *sample.sequence);
  if (!sample.id.empty()) draft_.PutText(kIdSlot, sample.id);
  draft_.PutText(kDeviceSlot, sample.device);
  return draft_.End();
}

/// Who sends again what is known waits for the word that it is committed as well.
void SampleServer::Own(const std::string& device, const PeerId& peer) {
  if (owners_.size() > 2 * static_cast<std::size_t>(settings_.forecast.max_devices))
    owners_.clear();
  owners_[device] = peer;
}

void SampleServer::TakeSample(const wire::Sample& sample, const Asked& asked) {
  ++counters_.samples;
  SampleOutcome outcome{Read(sample)};
  came_early_ = false;
  if (outcome.refusal == Refusal::kNone) {
    taking_ = &sample_.device;
    outcome = events_.take(sample_);
    taking_ = nullptr;
  } else {
    events_.refused(outcome.refusal);
  }
  if (outcome.refusal == Refusal::kNone || outcome.refusal == Refusal::kDuplicate)
    Own(sample_.device, asked.peer);
  if (outcome.refusal != Refusal::kNone)
    return Answer(asked, wire::Refused{WordOf(outcome.refusal), SentenceOf(outcome.refusal)});
  if (outcome.due && outcome.made_rows) {
    waiting_.push_back({sample_.device, asked});
  } else if (came_early_ && outcome.made_rows) {
    std::get<wire::Forecast>(early_).doubles = asked.doubles;
    Answer(asked, early_);
  } else {
    Answer(asked, wire::Taken{});
  }
}

void SampleServer::Give(const Forecast& forecast) {
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(answered_);
  const auto found = std::find_if(begin, waiting_.end(), [&](const Waiting& waiting) {
    return waiting.device == forecast.device;
  });
  if (found == waiting_.end()) {
    if (taking_ == nullptr || *taking_ != forecast.device) return;
    FillForecast(forecast, &std::get<wire::Forecast>(early_));
    came_early_ = true;
    return;
  }
  FillForecast(forecast, &std::get<wire::Forecast>(forecast_));
  std::get<wire::Forecast>(forecast_).doubles = found->asked.doubles;
  Answer(found->asked, forecast_);
  if (found == begin) {
    ++answered_;  // as good as always: forecasts come in the order of the rows
  } else {
    waiting_.erase(found);
  }
  if (answered_ < waiting_.size()) return;
  waiting_.clear();
  answered_ = 0;
}

void SampleServer::FillForecast(const Forecast& forecast, wire::Forecast* answer) const {
  answer->row = forecast.row;
  answer->time_ns = forecast.time_ns;
  answer->version = forecast.version;
  answer->alarm = static_cast<std::uint8_t>(forecast.alarm);
  answer->due_ns.clear();
  for (const int horizon : settings_.forecast.horizons)
    answer->due_ns.push_back(DueTime(forecast, settings_.forecast.every_s, horizon));
  answer->values.clear();
  answer->quantiles.clear();
  for (const Prediction& made : forecast.predictions) {
    const bool known = made.score.count > 0;
    const bool interval = known && made.quantiles.size() > 1;
    answer->values.push_back({made.published, made.model, made.baseline,
                              known ? made.score.model : kNone, known ? made.score.baseline : kNone,
                              interval ? made.score.inside : kNone,
                              static_cast<std::uint32_t>(made.score.count), made.by_model});
    answer->quantiles.insert(answer->quantiles.end(), made.quantiles.begin(), made.quantiles.end());
  }
}

void SampleServer::Answer(const Asked& asked, const wire::Body& body) {
  const auto found = peers_.find(asked.peer);
  const bool there = found != peers_.end() && found->second.session == asked.session;
  if (there && found->second.unanswered > 0) --found->second.unanswered;
  if (there && Send(asked.peer, body, asked.number) == SendOutcome::kSent) {
    ++counters_.answers;
    return;
  }
  ++counters_.unanswered;
  if (there) peers_.erase(found);  // it must know that it has missed one
}

void SampleServer::Reject(wire::Refusal refusal, const std::string& sentence,
                          std::uint64_t number) {
  ++counters_.refused[static_cast<std::size_t>(refusal)];
  (void)Send(message_.peer, wire::Error{refusal, sentence, number}, number);
  if (IsNonsense(refusal) && rejects_.Note(message_.peer, now_ns_())) peers_.erase(message_.peer);
}

std::vector<std::pair<std::string, std::uint64_t>> SampleServer::RefusedMessages() const {
  std::vector<std::pair<std::string, std::uint64_t>> refused;
  for (std::size_t i = 1; i < counters_.refused.size(); ++i)
    if (const std::uint64_t count = counters_.refused[i]; count > 0)
      refused.emplace_back(std::string("wire-") + wire::RefusalName(static_cast<WireRefusal>(i)),
                           count);
  return refused;
}

SendOutcome SampleServer::Send(const PeerId& peer, const wire::Body& body, std::uint64_t number) {
  const wire::Encoded encoded = wire::Encode(body, incarnation_, number);
  Message message;
  message.peer = peer;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  return socket_.TrySend(message);
}

void SampleServer::Commit(Committed committed) {
  committed_ = std::move(committed);
  for (auto& [id, peer] : peers_) {
    peer.to_tell.clear();
    peer.told = 0;
  }
  for (std::size_t i = 0; i < committed_.size(); ++i) {
    const auto owner = owners_.find(committed_[i].first);
    const auto found = owner == owners_.end() ? peers_.end() : peers_.find(owner->second);
    if (found != peers_.end() && !found->second.greeting) found->second.to_tell.push_back(i);
  }
  has_news_ = true;
}

/// False: it is gone.
bool SampleServer::TellSome(const PeerId& id, Peer* peer) {
  for (int i = 0; i < kMostTold; ++i) {
    const std::size_t all = peer->greeting ? committed_.size() : peer->to_tell.size();
    if (peer->told == all && !peer->greeting) return true;
    wire::SamplesCommitted committed;
    const std::size_t end = std::min(peer->told + wire::kMaxCommittedDevices, all);
    for (std::size_t j = peer->told; j < end; ++j) {
      const auto& [device, sequence] = committed_[peer->greeting ? j : peer->to_tell[j]];
      committed.devices.push_back({device, sequence});
    }
    committed.complete = end == all;
    const SendOutcome outcome = Send(id, committed, 0);
    if (outcome != SendOutcome::kSent) return outcome != SendOutcome::kNoPeer;
    peer->told = end;
    if (committed.complete && std::exchange(peer->greeting, false)) peer->told = 0;
  }
  has_news_ = true;
  return true;
}

void SampleServer::EndRound() {
  const std::int64_t now_ns = now_ns_();
  const bool look = now_ns >= next_look_ns_;
  if (std::exchange(has_news_, false) || look)
    for (auto peer = peers_.begin(); peer != peers_.end();)
      peer = TellSome(peer->first, &peer->second) ? std::next(peer) : peers_.erase(peer);
  if (!look) return;
  next_look_ns_ = now_ns + kNanosecondsPerSecond;
  rejects_.ForgetOld(now_ns);
  greetings_.ForgetOld(now_ns);
  std::erase_if(peers_,
                [now_ns](const auto& entry) { return now_ns - entry.second.heard_ns >= kIdleNs; });
}

void SampleServer::SayGoodbye() {
  for (const auto& [id, peer] : peers_)
    (void)Send(id, wire::Goaway{"the learner ends", 0, false}, 0);
  peers_.clear();
}

}  // namespace murmurate
