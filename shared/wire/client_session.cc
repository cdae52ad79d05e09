#include "shared/wire/client_session.h"

#include <algorithm>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate::wire {
namespace {

constexpr std::int64_t kDegradedAfterNs = 3 * kNanosecondsPerSecond;
constexpr std::int64_t kLostAfterNs = 10 * kNanosecondsPerSecond;
constexpr std::int64_t kSuspendedNs = kNanosecondsPerSecond;

using Kind = ClientSession::Event::Kind;

std::string Seconds(std::int64_t ns) { return std::to_string(ns / kNanosecondsPerSecond) + " s"; }

}  // namespace

void ClientSession::Ask(std::int64_t now_ns, Output* out) {
  out->send.emplace_back(hello_.Ask(totals_.sequence(), now_ns));
}

ClientSession::Output ClientSession::Introduce(Hello hello, std::int64_t now_ns) {
  Output out;
  hello_.Introduce(std::move(hello));
  if (!in_session()) {
    state_ = State::kGreeting;
    last_heard_ns_ = now_ns;
    if (reason_.empty()) reason_ = "no learner has answered yet";
  }
  Ask(now_ns, &out);
  return out;
}

void ClientSession::Heard(std::int64_t now_ns) {
  last_heard_ns_ = now_ns;
  if (state_ != State::kDegraded) return;
  state_ = State::kLive;
  reason_.clear();
}

ClientSession::Output ClientSession::OnMessage(const Decoded& message, std::int64_t now_ns) {
  Output out;
  if (state_ == State::kIdle) return out;
  Heard(now_ns);
  if (const auto* ok = std::get_if<HelloOk>(&message.body)) {
    OnHelloOk(*ok, &out);
  } else if (const auto* accepted = std::get_if<Accepted>(&message.body)) {
    if (!in_session()) return out;
    totals_.OnAccepted(accepted->sequence);
    OnCredit(accepted->models, accepted->bytes_total, &out);
  } else if (const auto* pong = std::get_if<Pong>(&message.body)) {
    if (!in_session()) return out;
    if (pong->incarnation != hello_ok_->incarnation) {
      state_ = State::kGreeting;
      reason_ = "the learner was started again";
      Ask(now_ns, &out);
    } else {
      OnCredit(pong->models, 0, &out);
    }
  } else if (const auto* settings = std::get_if<Settings>(&message.body)) {
    settings_ = *settings;
    out.events.push_back({Kind::kSettings});
  } else if (const auto* goaway = std::get_if<Goaway>(&message.body)) {
    OnGoaway(*goaway, now_ns, &out);
  } else if (const auto* committed = std::get_if<Committed>(&message.body)) {
    if (in_session() && totals_.OnCommitted(*committed)) out.events.push_back({Kind::kCommitted});
  } else if (std::holds_alternative<Bye>(message.body)) {
    OnGoaway({"the learner has left", deadline_ms_, restart_expected_}, now_ns, &out);
  } else if (const auto* error = std::get_if<Error>(&message.body)) {
    OnError(*error, now_ns, &out);
  }
  return out;
}

void ClientSession::OnHelloOk(const HelloOk& ok, Output* out) {
  if (!hello_.IsAnsweredBy(ok)) return;
  const bool other_learner = hello_ok_ && hello_ok_->incarnation != ok.incarnation;
  fresh_session_ = !hello_ok_ || other_learner ||
                   (ok.session == 0 ? !in_session() : hello_ok_->session != ok.session);
  if (fresh_session_) {
    totals_.BeginSession(ok, other_learner);
    last_ping_ns_ = 0;
  }
  hello_ok_ = ok;
  totals_.OnHelloOk(ok);
  hello_.OnAnswered();
  unsure_ = false;
  state_ = State::kLive;
  reason_.clear();
  out->events.push_back({Kind::kWelcome});
}

void ClientSession::OnCredit(const std::vector<ModelCredit>& models, std::uint64_t bytes_total,
                             Output* out) {
  const SessionTotals::Raised raised = totals_.OnCredit(models, bytes_total);
  if (raised.credit) out->events.push_back({Kind::kCredit});
  if (raised.version) out->events.push_back({Kind::kNewVersion});
}

void ClientSession::OnGoaway(const Goaway& goaway, std::int64_t now_ns, Output* out) {
  if (state_ == State::kGreeting && reason_ == goaway.reason) return;
  state_ = State::kGreeting;
  reason_ = goaway.reason;
  restart_expected_ = goaway.restart_expected;
  deadline_ms_ = goaway.deadline_ms;
  hello_.OnGoaway(now_ns);
  out->events.push_back({Kind::kGoaway});
}

void ClientSession::OnError(const Error& error, std::int64_t now_ns, Output* out) {
  if (error.refusal == Refusal::kNotRegistered) {
    if (!in_session()) return;  // HELLO is on its way
    state_ = State::kGreeting;
    reason_ = error.sentence;
    return Ask(now_ns, out);
  }
  const bool session_wide = error.refusal == Refusal::kSpaces ||
                            error.refusal == Refusal::kVersion || error.refusal == Refusal::kBusy ||
                            error.refusal == Refusal::kIncarnation;
  if (error.sequence != 0 || (!session_wide && !hello_.open())) return totals_.OnRefused(error);
  const bool news = state_ != State::kRefused || reason_ != error.sentence;
  state_ = State::kRefused;
  reason_ = error.sentence;
  hello_.OnRefused(now_ns);
  if (news) out->events.push_back({Kind::kRefused});
}

void ClientSession::OnWaking(std::int64_t away_ns, std::int64_t now_ns, Output* out) {
  last_heard_ns_ = std::min(now_ns, last_heard_ns_ + away_ns);
  if (!in_session()) return;
  unsure_ = true;
  Ask(now_ns, out);
}

void ClientSession::OnSilence(std::int64_t silent_ns, std::int64_t now_ns, Output* out) {
  if (silent_ns >= kLostAfterNs) {
    reason_ = "nothing heard from the learner for " + Seconds(silent_ns);
    state_ = State::kLost;
    last_heard_ns_ = now_ns;
    hello_.OnLost(now_ns);
    out->events.push_back({Kind::kLost});
  } else if (silent_ns >= kDegradedAfterNs && state_ == State::kLive) {
    reason_ = "nothing heard from the learner for " + Seconds(silent_ns);
    state_ = State::kDegraded;
  }
}

bool ClientSession::PingDue(std::int64_t now_ns) const {
  const std::int64_t heartbeat_ns =
      hello_ok_ ? hello_ok_->heartbeat_ms * kNanosecondsPerMillisecond : kNanosecondsPerSecond;
  return in_session() && !unsure_ && (last_ping_ns_ == 0 || now_ns - last_ping_ns_ >= heartbeat_ns);
}

ClientSession::Output ClientSession::OnTick(const Ping& progress, std::int64_t now_ns) {
  Output out;
  if (state_ == State::kIdle) return out;
  const std::int64_t before_ns = std::exchange(last_tick_ns_, now_ns);
  const std::int64_t away_ns = before_ns == 0 ? 0 : now_ns - before_ns;
  if (away_ns >= kSuspendedNs) OnWaking(away_ns, now_ns, &out);
  OnSilence(now_ns - last_heard_ns_, now_ns, &out);
  if (!out.events.empty()) return out;
  if ((!in_session() || hello_.open()) && hello_.due(now_ns)) {
    if (state_ == State::kLost) state_ = State::kGreeting;
    const bool refused = state_ == State::kRefused;
    out.send.emplace_back(hello_.Repeat(totals_.sequence(), now_ns, refused));
  }
  if (PingDue(now_ns)) {
    Ping ping = progress;
    ping.sent_ns = now_ns;
    out.send.emplace_back(std::move(ping));
    last_ping_ns_ = now_ns;
  }
  return out;
}

}  // namespace murmurate::wire
