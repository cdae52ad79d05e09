#include "shared/wire/client_session.h"

#include <algorithm>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate::wire {
namespace {

constexpr std::int64_t kFirstRetryNs = 2 * kNanosecondsPerMillisecond;
constexpr std::int64_t kLongestRetryNs = kNanosecondsPerSecond;
constexpr std::int64_t kRefusedRetryNs = 5 * kNanosecondsPerSecond;
constexpr std::int64_t kDegradedAfterNs = 3 * kNanosecondsPerSecond;
constexpr std::int64_t kLostAfterNs = 10 * kNanosecondsPerSecond;
constexpr std::int64_t kSuspendedNs = kNanosecondsPerSecond;

using Kind = ClientSession::Event::Kind;

std::string Seconds(std::int64_t ns) { return std::to_string(ns / kNanosecondsPerSecond) + " s"; }

}  // namespace

void ClientSession::SendHello(std::int64_t now_ns, Output* out) {
  hello_->sequence = sequence_;
  out->send.emplace_back(*hello_);
  hello_open_ = true;
  // Between half of the back-off and all of it: many clients of a restarted learner spread out.
  next_hello_ns_ = now_ns + hello_backoff_ns_ / 2 +
                   static_cast<std::int64_t>(random_.UniformDouble() *
                                             static_cast<double>(hello_backoff_ns_ / 2));
  hello_backoff_ns_ = std::min(2 * hello_backoff_ns_, kLongestRetryNs);
}

void ClientSession::Ask(std::int64_t now_ns, Output* out) {
  hello_backoff_ns_ = kFirstRetryNs;
  SendHello(now_ns, out);
}

ClientSession::Output ClientSession::Introduce(Hello hello, std::int64_t now_ns) {
  Output out;
  hello.number = hello_ ? hello_->number + 1 : 1;
  hello_ = std::move(hello);
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
    acknowledged_ = std::max(acknowledged_, accepted->sequence);
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
    if (in_session()) OnCommitted(*committed, &out);
  } else if (std::holds_alternative<Bye>(message.body)) {
    OnGoaway({"the learner has left", deadline_ms_, restart_expected_}, now_ns, &out);
  } else if (const auto* error = std::get_if<Error>(&message.body)) {
    OnError(*error, now_ns, &out);
  }
  return out;
}

/// An answer to an earlier HELLO says nothing of the agents that have come since.
bool ClientSession::Answers(const HelloOk& ok) const {
  if (ok.number != 0 && ok.number != hello_->number) return false;
  return std::equal(ok.models.begin(), ok.models.end(), hello_->models.begin(),
                    hello_->models.end(), [](const HelloOkModel& a, const HelloModel& b) {
                      return a.name == b.name && a.agent_indices.size() == b.agents.size();
                    });
}

void ClientSession::OnHelloOk(const HelloOk& ok, Output* out) {
  if (!Answers(ok)) return;
  fresh_session_ = !hello_ok_ || hello_ok_->incarnation != ok.incarnation ||
                   (ok.session == 0 ? !in_session() : hello_ok_->session != ok.session);
  if (fresh_session_) {
    if (ok.resumed && sequence_ > ok.kept_sequence && hello_ok_ &&
        hello_ok_->incarnation != ok.incarnation) {
      lost_trajectories_ += sequence_ - ok.kept_sequence;
    }
    sequence_ = std::max(sequence_, ok.sequence);  // more may have left since that HELLO
    acknowledged_ = ok.sequence;
    bytes_total_ = 0;
    last_ping_ns_ = 0;
    committed_.clear();
  }
  hello_ok_ = ok;
  bytes_total_ = std::max(bytes_total_, ok.bytes_total);
  credit_.clear();
  for (const HelloOkModel& m : ok.models) {
    credit_.push_back({m.steps_total, m.at_version, m.version});
  }
  hello_open_ = unsure_ = false;
  state_ = State::kLive;
  reason_.clear();
  out->events.push_back({Kind::kWelcome});
}

void ClientSession::OnCredit(const std::vector<ModelCredit>& models, std::uint64_t bytes_total,
                             Output* out) {
  bool more = bytes_total > bytes_total_, newer = false;
  bytes_total_ = std::max(bytes_total_, bytes_total);
  for (std::size_t i = 0; i < std::min(models.size(), credit_.size()); ++i) {
    ModelCredit& mine = credit_[i];
    newer |= models[i].version > mine.version;
    mine.version = std::max(mine.version, models[i].version);
    if (models[i].steps_total < mine.steps_total) continue;  // said before what is known by now
    more |= models[i].steps_total > mine.steps_total || models[i].at_version > mine.at_version;
    mine.steps_total = models[i].steps_total;
    mine.at_version = std::max(mine.at_version, models[i].at_version);
  }
  if (more) out->events.push_back({Kind::kCredit});
  if (newer) out->events.push_back({Kind::kNewVersion});
}

void ClientSession::OnCommitted(const Committed& committed, Output* out) {
  if (committed.model >= credit_.size()) return;
  if (committed_.size() <= committed.model) committed_.resize(committed.model + 1);
  committed_[committed.model] = committed;
  out->events.push_back({Kind::kCommitted});
}

void ClientSession::OnGoaway(const Goaway& goaway, std::int64_t now_ns, Output* out) {
  if (state_ == State::kGreeting && reason_ == goaway.reason) return;
  state_ = State::kGreeting;
  reason_ = goaway.reason;
  restart_expected_ = goaway.restart_expected;
  deadline_ms_ = goaway.deadline_ms;
  hello_open_ = false;
  hello_backoff_ns_ = kLongestRetryNs;
  next_hello_ns_ = now_ns + kLongestRetryNs;  // not to the one that is leaving
  out->events.push_back({Kind::kGoaway});
}

void ClientSession::OnError(const Error& error, std::int64_t now_ns, Output* out) {
  if (error.refusal == Refusal::kNotRegistered) {
    if (!in_session()) return;  // HELLO is on its way
    state_ = State::kGreeting;
    reason_ = error.sentence;
    return Ask(now_ns, out);
  }
  if (error.sequence != 0) {
    ++refused_trajectories_;
    last_refusal_ = error.sentence;
    return;
  }
  const bool session_wide = error.refusal == Refusal::kSpaces ||
                            error.refusal == Refusal::kVersion || error.refusal == Refusal::kBusy ||
                            error.refusal == Refusal::kIncarnation;
  if (!session_wide && !hello_open_) {
    last_refusal_ = error.sentence;
    return;
  }
  const bool news = state_ != State::kRefused || reason_ != error.sentence;
  state_ = State::kRefused;
  reason_ = error.sentence;
  hello_open_ = false;
  next_hello_ns_ = now_ns + kRefusedRetryNs;
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
    hello_backoff_ns_ = kFirstRetryNs;
    next_hello_ns_ = now_ns + kFirstRetryNs;
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
  if ((!in_session() || hello_open_) && now_ns >= next_hello_ns_) {
    if (state_ == State::kLost) state_ = State::kGreeting;
    if (state_ == State::kRefused) hello_backoff_ns_ = 2 * kRefusedRetryNs;
    SendHello(now_ns, &out);
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
