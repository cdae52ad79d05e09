#include "client/predictor_link.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

using Outcome = Predictor::Outcome;
using Sent = Predictor::Sent;

constexpr std::int64_t kFirstHelloNs = 2 * kNanosecondsPerMillisecond;
constexpr int kLingerMs = 200;
constexpr int kHighWaterMark = 1024;  ///< a backstop: credit bounds what waits
constexpr int kMostMessages = 512;    ///< of one round

/// What an answer may say, but not its memory.
void Clear(Predictor::Answer* answer) {
  answer->reason.clear();
  answer->sentence.clear();
  answer->row = answer->version = 0;
  answer->time_ns = 0;
  answer->alarm = Predictor::Alarm::kUnchanged;
  answer->due_ns.clear();
  answer->values.clear();
  answer->quantiles.clear();
}

}  // namespace

PredictorLink::PredictorLink(std::string address, PredictorOptions options)
    : address_(std::move(address)), options_(std::move(options)), sender_(RandomIdentity()) {}

PredictorLink::~PredictorLink() {
  if (live_) (void)Post(wire::Bye{}, 0);
}

void PredictorLink::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

Status PredictorLink::Open() {
  SocketOptions options;
  options.linger_ms = kLingerMs;
  options.high_water_mark = kHighWaterMark;
  auto opened = Socket::Open(context_, SocketKind::kDealer, options);
  if (!opened.ok()) return opened.status();
  MURMURATE_RETURN_IF_ERROR(opened->Connect(address_));
  socket_ = *std::move(opened);
  return {};
}

void PredictorLink::Drive() {
  if (!socket_) {
    if (const Status status = Open(); !status.ok()) {
      reason_ = status.message();
      return;
    }
  }
  ReceiveSome();
  Tick(MonotonicNs());
}

/// What is due now: after what has come was read, so that a pause of the caller's is no silence of
/// the stream's.
void PredictorLink::Tick(std::int64_t now_ns) {
  if (!live_) {
    if (now_ns >= next_hello_ns_) SayHello(now_ns);
    return;
  }
  if (asked_ns_ <= heard_ns_) asked_ns_ = 0;
  if (asked_ns_ != 0 && now_ns - asked_ns_ >= kSilenceNs)
    return Lose("the stream at " + address_ + " has been silent for 3 s", true);
  if (now_ns - std::max(heard_ns_, pinged_ns_) < kPingNs) return;
  (void)Post(wire::Ping{now_ns, {}}, 0);
  pinged_ns_ = now_ns;
  if (asked_ns_ == 0) asked_ns_ = now_ns;
}

void PredictorLink::SayHello(std::int64_t now_ns) {
  wire::StreamHello hello{wire::kMajor,    wire::kMajor,    options_.name, options_.stream,
                          options_.fields, ++hello_number_, last_number_,  true};
  if (refused_) {
    hello_wait_ns_ = kRefusedNs;
  } else {
    hello_wait_ns_ = std::clamp(2 * hello_wait_ns_, kFirstHelloNs, kNanosecondsPerSecond);
  }
  next_hello_ns_ = now_ns + hello_wait_ns_;
  (void)Post(hello, 0);  // nobody there: again when that time has come
}

bool PredictorLink::Post(const wire::Body& body, std::uint64_t number) {
  if (!socket_) return false;
  const wire::Encoded encoded = wire::Encode(body, sender_, number);
  Message message;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  return socket_->TrySend(message) == SendOutcome::kSent;
}

void PredictorLink::ReceiveSome() {
  for (int i = 0; i < kMostMessages && socket_ && socket_->TryReceive(&message_); ++i) {
    frames_.clear();
    for (const Frame& frame : message_.frames) frames_.push_back(frame.bytes());
    auto decoded = wire::Decode(frames_);
    if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
      Log(LogLevel::kWarning,
          "a message from " + address_ + " was not understood: " + failure->sentence);
      continue;
    }
    heard_ns_ = MonotonicNs();
    auto& good = std::get<wire::Decoded>(decoded);
    if (auto* forecast = std::get_if<wire::Forecast>(&good.body)) {
      TakeForecast(good.header.sequence, forecast);
    } else {
      Take(good);
    }
  }
}

void PredictorLink::Take(const wire::Decoded& decoded) {
  const std::uint64_t number = decoded.header.sequence;
  if (const auto* ok = std::get_if<wire::StreamOk>(&decoded.body)) {
    incarnation_ = decoded.header.sender;
    TakeOk(*ok);
  } else if (const auto* committed = std::get_if<wire::SamplesCommitted>(&decoded.body)) {
    TakeCommitted(*committed);
  } else if (std::holds_alternative<wire::Taken>(decoded.body)) {
    if (Slot* slot = OpenSlot(number)) Finish(slot, Outcome::kTaken);
  } else if (const auto* refused = std::get_if<wire::Refused>(&decoded.body)) {
    Slot* slot = OpenSlot(number);
    if (slot == nullptr) return;
    slot->answer.reason = refused->word;
    slot->answer.sentence = refused->sentence;
    Finish(slot, Outcome::kRefused);
  } else if (const auto* error = std::get_if<wire::Error>(&decoded.body)) {
    TakeError(*error, number);
  } else if (const auto* goaway = std::get_if<wire::Goaway>(&decoded.body)) {
    Lose("the stream at " + address_ + " said goodbye: " + goaway->reason, true);
  }
}

void PredictorLink::TakeOk(const wire::StreamOk& ok) {
  if (live_ || ok.number < first_hello_) return;
  stream_ = {ok.stream, ok.fields, ok.targets, ok.horizons, ok.quantiles};
  doubles_ = ok.doubles;
  refused_ = false;
  committed_.clear();
  welcomed_ = true;
  // What waits to be received keeps its place.
  if (slots_.size() != ok.credit && in_flight() == 0) {
    slots_.clear();
    slots_.resize(ok.credit);
  }
}

void PredictorLink::TakeCommitted(const wire::SamplesCommitted& committed) {
  if (!live_ && !welcomed_) return;
  for (const auto& [device, sequence] : committed.devices)
    committed_.insert_or_assign(device, sequence);
  if (live_ || !committed.complete) return;
  live_ = true;
  welcomed_ = false;
  hello_wait_ns_ = 0;
  asked_ns_ = 0;
  reason_.clear();
  ++sessions_;
}

PredictorLink::Slot* PredictorLink::OpenSlot(std::uint64_t number) {
  if (slots_.empty()) return nullptr;
  Slot& slot = slots_[number % slots_.size()];
  return slot.state == SlotState::kOpen && slot.number == number ? &slot : nullptr;
}

void PredictorLink::Finish(Slot* slot, Outcome outcome) {
  slot->state = SlotState::kReady;
  slot->answer.outcome = outcome;
  --open_;
  ready_.push_back(static_cast<std::size_t>(slot - slots_.data()));
}

void PredictorLink::TakeForecast(std::uint64_t number, wire::Forecast* forecast) {
  Slot* slot = OpenSlot(number);
  if (slot == nullptr) return;
  Predictor::Answer& answer = slot->answer;
  answer.row = forecast->row;
  answer.version = forecast->version;
  answer.time_ns = forecast->time_ns;
  answer.alarm = static_cast<Predictor::Alarm>(forecast->alarm);
  answer.due_ns = std::move(forecast->due_ns);
  answer.quantiles = std::move(forecast->quantiles);
  answer.values.clear();
  for (const wire::ForecastValue& value : forecast->values)
    answer.values.push_back({value.forecast, value.model, value.baseline, value.error,
                             value.baseline_error, value.coverage, value.count, value.by_model});
  Finish(slot, Outcome::kForecast);
}

void PredictorLink::TakeError(const wire::Error& error, std::uint64_t number) {
  if (error.refusal == wire::Refusal::kNotRegistered) {
    if (live_) Lose(error.sentence, false);
    return;
  }
  if (Slot* slot = OpenSlot(number)) {
    slot->answer.reason = wire::RefusalName(error.refusal);
    slot->answer.sentence = error.sentence;
    return Finish(slot, Outcome::kRefused);
  }
  if (live_) return;
  refused_ = error.refusal != wire::Refusal::kBusy;  // which passes
  if (reason_ != error.sentence) Log(LogLevel::kWarning, "the stream refused: " + error.sentence);
  reason_ = error.sentence;
  next_hello_ns_ = MonotonicNs() + kRefusedNs;
}

/// `new_socket`: so that nothing that waits in this one is ever heard.
void PredictorLink::Lose(const std::string& why, bool new_socket) {
  for (Slot& slot : slots_)
    if (slot.state == SlotState::kOpen) Finish(&slot, Outcome::kUnanswered);
  Log(LogLevel::kWarning, why);
  reason_ = why;
  live_ = welcomed_ = refused_ = false;
  first_hello_ = hello_number_ + 1;
  hello_wait_ns_ = 0;
  next_hello_ns_ = 0;
  if (new_socket) socket_.reset();
}

template <typename Number>
Sent PredictorLink::Send(std::string_view device, std::span<const Number> values,
                         const Predictor::SampleOptions& options) {
  const std::uint64_t sessions = sessions_;
  Drive();
  if (!live_ || sessions != sessions_) return Sent::kNoStream;
  if (device.empty() || device.size() > wire::kMaxSampleName ||
      options.id.size() > wire::kMaxSampleName || values.size() != stream_.fields.size())
    return Sent::kBadSample;
  Slot& slot = slots_[(last_number_ + 1) % slots_.size()];
  if (slot.state != SlotState::kFree) return Sent::kNoCredit;
  auto& sample = std::get<wire::Sample>(sample_);
  sample.device = device;
  sample.id = options.id;
  sample.time_ns = options.time_ns;
  sample.sequence = options.sequence;
  sample.values.assign(values.begin(), values.end());
  sample.doubles = doubles_;
  if (!Post(sample_, last_number_ + 1)) return Sent::kNoStream;
  slot.state = SlotState::kOpen;
  slot.number = ++last_number_;
  slot.answer.device = device;
  slot.answer.id = options.id;
  slot.answer.sequence = options.sequence;
  Clear(&slot.answer);
  ++open_;
  return Sent::kTaken;
}

template Sent PredictorLink::Send(std::string_view, std::span<const float>,
                                  const Predictor::SampleOptions&);
template Sent PredictorLink::Send(std::string_view, std::span<const double>,
                                  const Predictor::SampleOptions&);

bool PredictorLink::Receive(Predictor::Answer* answer, int timeout_ms) {
  const std::int64_t until_ns =
      MonotonicNs() + std::int64_t{std::max(timeout_ms, 0)} * kNanosecondsPerMillisecond;
  for (Drive(); given_ == ready_.size(); Drive()) {
    if (MonotonicNs() >= until_ns) return false;
    Socket* const sockets[] = {socket_ ? &*socket_ : nullptr};
    (void)Poller(nullptr).Wait(sockets, WaitMs(until_ns));
  }
  Slot& slot = slots_[ready_[given_++]];
  std::swap(*answer, slot.answer);
  slot.state = SlotState::kFree;
  if (given_ == ready_.size() || given_ >= slots_.size()) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(given_));
    given_ = 0;
  }
  return true;
}

/// Until then, a message, or what Tick does next.
int PredictorLink::WaitMs(std::int64_t until_ns) const {
  const std::int64_t now_ns = MonotonicNs();
  const std::int64_t next_ns = live_ ? now_ns + kPingNs / 5 : next_hello_ns_;
  const std::int64_t wait_ns = std::min(until_ns, next_ns) - now_ns;
  return static_cast<int>(
      std::clamp<std::int64_t>(wait_ns / kNanosecondsPerMillisecond + 1, 1, 100));
}

Predictor::StateReport PredictorLink::State() const {
  if (live_) return {Predictor::Phase::kLive, ""};
  if (refused_) return {Predictor::Phase::kRefused, reason_};
  return {Predictor::Phase::kNoStream,
          reason_.empty() ? "nobody answers at " + address_ + " yet" : reason_};
}

std::optional<std::uint64_t> PredictorLink::Committed(std::string_view device) const {
  const auto found = committed_.find(device);
  if (found == committed_.end()) return std::nullopt;
  return found->second;
}

}  // namespace murmurate
