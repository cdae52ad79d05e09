#include "client/predictor_link.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

using Outcome = Predictor::Outcome;
using Sent = Predictor::Sent;

constexpr int kLingerMs = 200;
constexpr int kHighWaterMark = 1024;  ///< a backstop: credit bounds what waits
constexpr int kMostMessages = 512;    ///< of one round

SocketOptions HowToOpen() {
  SocketOptions options;
  options.linger_ms = kLingerMs;
  options.high_water_mark = kHighWaterMark;
  return options;
}

}  // namespace

PredictorLink::PredictorLink(std::string address, PredictorOptions options)
    : address_(std::move(address)),
      options_(std::move(options)),
      socket_(context_, address_, RandomIdentity(), HowToOpen()) {}

PredictorLink::~PredictorLink() {
  if (session_.live()) (void)socket_.Send(wire::Bye{});
}

void PredictorLink::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

void PredictorLink::Drive() {
  if (!socket_.is_open()) {
    if (const Status status = Open(); !status.ok()) {
      session_.OnNoSocket(status.message());
      return;
    }
  }
  ReceiveSome();
  Tick(MonotonicNs());
}

void PredictorLink::Tick(std::int64_t now_ns) {
  switch (session_.OnTick(now_ns)) {
    case StreamSession::Due::kNothing:
      return;
    case StreamSession::Due::kHello:  // if no stream is there, it is due again later
      (void)socket_.Send(wire::StreamHello{wire::kMajor, wire::kMajor, options_.name,
                                           options_.stream, options_.fields,
                                           session_.hello_number(), slots_.last_number(), true});
      return;
    case StreamSession::Due::kPing:
      (void)socket_.Send(wire::Ping{now_ns, {}});
      return;
    case StreamSession::Due::kLost:
      return Lose("the stream at " + address_ + " has been silent for 3 s", true);
  }
}

void PredictorLink::ReceiveSome() {
  for (int i = 0; i < kMostMessages; ++i) {
    auto received = socket_.Receive();
    if (!received.has_value()) return;
    if (const auto* failure = std::get_if<wire::DecodeFailure>(&*received)) {
      Log(LogLevel::kWarning,
          "a message from " + address_ + " was not understood: " + failure->sentence);
      continue;
    }
    session_.OnHeard(MonotonicNs());
    auto& good = std::get<wire::Decoded>(*received);
    if (auto* forecast = std::get_if<wire::Forecast>(&good.body)) {
      OnForecast(good.header.sequence, forecast);
    } else {
      OnMessage(good);
    }
  }
}

void PredictorLink::OnMessage(const wire::Decoded& decoded) {
  const std::uint64_t number = decoded.header.sequence;
  if (const auto* ok = std::get_if<wire::StreamOk>(&decoded.body)) {
    if (session_.OnOk(*ok)) slots_.Resize(ok->credit);
  } else if (const auto* committed = std::get_if<wire::SamplesCommitted>(&decoded.body)) {
    session_.OnCommitted(*committed);
  } else if (std::holds_alternative<wire::Taken>(decoded.body)) {
    if (slots_.Find(number) != nullptr) slots_.Finish(number, Outcome::kTaken);
  } else if (const auto* refused = std::get_if<wire::Refused>(&decoded.body)) {
    Predictor::Answer* answer = slots_.Find(number);
    if (answer == nullptr) return;
    answer->reason = refused->word;
    answer->sentence = refused->sentence;
    slots_.Finish(number, Outcome::kRefused);
  } else if (const auto* error = std::get_if<wire::Error>(&decoded.body)) {
    OnError(*error, number);
  } else if (const auto* goaway = std::get_if<wire::Goaway>(&decoded.body)) {
    Lose("the stream at " + address_ + " is stopping: " + goaway->reason, true);
  }
}

void PredictorLink::OnForecast(std::uint64_t number, wire::Forecast* forecast) {
  Predictor::Answer* const awaited = slots_.Find(number);
  if (awaited == nullptr) return;
  Predictor::Answer& answer = *awaited;
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
  slots_.Finish(number, Outcome::kForecast);
}

void PredictorLink::OnError(const wire::Error& error, std::uint64_t number) {
  if (error.refusal == wire::Refusal::kNotRegistered) {
    if (session_.live()) Lose(error.sentence, false);
    return;
  }
  if (Predictor::Answer* answer = slots_.Find(number)) {
    answer->reason = wire::RefusalName(error.refusal);
    answer->sentence = error.sentence;
    return slots_.Finish(number, Outcome::kRefused);
  }
  if (session_.OnRefused(error, MonotonicNs()))
    Log(LogLevel::kWarning, "the stream refused: " + error.sentence);
}

/// Ends the session. `new_socket`: so that nothing that waits in this one is ever heard.
void PredictorLink::Lose(const std::string& why, bool new_socket) {
  slots_.FinishAll();
  Log(LogLevel::kWarning, why);
  session_.OnLost(why);
  if (new_socket) socket_.Close();
}

template <typename Number>
Sent PredictorLink::Send(std::string_view device, std::span<const Number> values,
                         const Predictor::SampleOptions& options) {
  const std::uint64_t sessions = session_.sessions();
  Drive();
  if (!session_.live() || sessions != session_.sessions()) return Sent::kNoStream;
  if (device.empty() || device.size() > wire::kMaxSampleName ||
      options.id.size() > wire::kMaxSampleName || values.size() != stream().fields.size())
    return Sent::kBadSample;
  if (!slots_.has_room()) return Sent::kNoCredit;
  auto& sample = std::get<wire::Sample>(sample_);
  sample.device = device;
  sample.id = options.id;
  sample.time_ns = options.time_ns;
  sample.sequence = options.sequence;
  sample.values.assign(values.begin(), values.end());
  sample.doubles = session_.reads_doubles();
  if (!socket_.Send(sample_, slots_.last_number() + 1)) return Sent::kNoStream;
  slots_.Open(device, options);
  return Sent::kTaken;
}

template Sent PredictorLink::Send(std::string_view, std::span<const float>,
                                  const Predictor::SampleOptions&);
template Sent PredictorLink::Send(std::string_view, std::span<const double>,
                                  const Predictor::SampleOptions&);

bool PredictorLink::Receive(Predictor::Answer* answer, int timeout_ms) {
  const std::int64_t until_ns =
      MonotonicNs() + std::int64_t{std::max(timeout_ms, 0)} * kNanosecondsPerMillisecond;
  for (Drive(); !slots_.any_ready(); Drive()) {
    if (MonotonicNs() >= until_ns) return false;
    Socket* const sockets[] = {socket_.get()};
    (void)Poller(nullptr).Wait(sockets, WaitMs(until_ns));
  }
  slots_.Pop(answer);
  return true;
}

/// The milliseconds to sleep before `until_ns`, a message, or what is due next.
int PredictorLink::WaitMs(std::int64_t until_ns) const {
  const std::int64_t now_ns = MonotonicNs();
  const std::int64_t wait_ns = std::min(until_ns, session_.NextTickNs(now_ns)) - now_ns;
  return static_cast<int>(
      std::clamp<std::int64_t>(wait_ns / kNanosecondsPerMillisecond + 1, 1, 100));
}

Predictor::StateReport PredictorLink::State() const {
  if (session_.live()) return {Predictor::Phase::kLive, ""};
  const std::string& reason = session_.reason();
  if (session_.refused()) return {Predictor::Phase::kRefused, reason};
  return {Predictor::Phase::kNoStream,
          reason.empty() ? "no stream answers at " + address_ + " yet" : reason};
}

}  // namespace murmurate
