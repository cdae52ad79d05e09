#include "server/stream/mqtt_link.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::int64_t kConnectWithinNs = 10 * kNanosecondsPerSecond;
/// A connection that lasts less was no good one: who is thrown out again and again must not return
/// at once each time.
constexpr std::int64_t kSteadyNs = 10 * kNanosecondsPerSecond;
constexpr int kLongestWaitMs = 1000;  // libmosquitto checks its keepalive by the second

std::string RandomClientId() {
  char text[32];  // 22 characters: MQTT 3.1.1 promises 23
  std::snprintf(text, sizeof text, "murmurate-%012llx",
                static_cast<unsigned long long>(RandomIdentity() >> 16));
  return text;
}

void Count(std::atomic<std::uint64_t>& count, std::uint64_t more = 1) {
  count.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<MqttLink>> MqttLink::Open(MqttSettings settings, MqttEvents events,
                                                 MqttTime time) {
  MURMURATE_RETURN_IF_ERROR(CheckMqttSettings(settings));
  Result<MqttAddress> address = ParseMqttAddress(settings.broker);
  if (!address.ok()) return address.status();
  if (time.seed == 0) time.seed = RandomIdentity();
  return std::unique_ptr<MqttLink>(
      new MqttLink(std::move(settings), *std::move(address), std::move(events), std::move(time)));
}

MqttLink::MqttLink(MqttSettings settings, MqttAddress address, MqttEvents events, MqttTime time)
    : settings_(std::move(settings)),
      address_(std::move(address)),
      events_(std::move(events)),
      now_ns_(std::move(time.now_ns)),
      take_([this](const MqttMessage& message) { OnMessage(message); }),
      client_id_(settings_.client_id.empty() ? RandomClientId() : settings_.client_id),
      delay_(time.seed),
      attempt_at_ns_(now_ns_()),
      down_since_ns_(attempt_at_ns_) {}

MqttLink::~MqttLink() {
  if (connection_ != nullptr) connection_->SayGoodbye();
}

int MqttLink::PollOnce(int timeout_ms) {
  handed_over_ = 0;
  if (connection_ == nullptr && now_ns_() >= attempt_at_ns_) Attempt();
  if (connection_ != nullptr) AfterTurn(connection_->Turn(0));
  pollfd waits[3] = {{wake_.fd(), POLLIN, 0}, {-1, 0, 0}, {other_fd_, POLLIN, 0}};
  if (connection_ != nullptr) waits[1] = {connection_->fd(), connection_->events(), 0};
  const int wait_ms = handed_over_ > 0 ? 0 : WaitMs(timeout_ms);
  if (poll(waits, 3, wait_ms) <= 0) waits[0].revents = waits[1].revents = 0;
  if (waits[0].revents != 0) wake_.Clear();
  if (connection_ != nullptr && waits[1].revents != 0) {
    AfterTurn(connection_->Turn(waits[1].revents));
  }
  return handed_over_;
}

void MqttLink::Attempt() {
  give_up_at_ns_ = now_ns_() + kConnectWithinNs;
  Result<std::unique_ptr<MqttConnection>> connection =
      MqttConnection::Start(settings_, address_, client_id_, take_);
  if (!connection.ok()) return Lose(connection.status().message());
  connection_ = *std::move(connection);
}

int MqttLink::WaitMs(int timeout_ms) const {
  const int longest = timeout_ms < 0 ? kLongestWaitMs : std::min(timeout_ms, kLongestWaitMs);
  if (up()) return longest;
  const std::int64_t until = connection_ == nullptr ? attempt_at_ns_ : give_up_at_ns_;
  const std::int64_t left_ms = (until - now_ns_()) / kNanosecondsPerMillisecond + 1;
  return static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, longest));
}

void MqttLink::AfterTurn(const Status& status) {
  if (!status.ok()) return Lose(status.message());
  if (up()) return;
  if (connection_->ready()) return ComeUp();
  if (now_ns_() >= give_up_at_ns_) {
    Lose("broker " + address_.ToString() +
         ": it has not answered for 10 s; is it a broker, and is it overloaded?");
  }
}

void MqttLink::ComeUp() {
  up_since_ns_ = now_ns_();
  down_since_ns_.store(kUp, std::memory_order_relaxed);
  Count(counters_.connects);
  trouble_.clear();
  if (events_.on_state) events_.on_state(true, "broker " + address_.ToString() + ": connected");
}

void MqttLink::Lose(const std::string& sentence) {
  const std::int64_t now = now_ns_();
  const bool was_up = up();
  Count(was_up ? counters_.losses : counters_.failed_attempts);
  if (connection_ != nullptr) {
    Count(counters_.dropped, static_cast<std::uint64_t>(connection_->in_flight()));
  }
  connection_.reset();
  if (was_up) {
    down_since_ns_.store(now, std::memory_order_relaxed);
    if (now - up_since_ns_ >= kSteadyNs) delay_.Reset();
  }
  attempt_at_ns_ = now + delay_.Next();
  if (sentence == trouble_) return;
  trouble_ = sentence;
  if (events_.on_state) events_.on_state(false, sentence);
}

void MqttLink::OnMessage(const MqttMessage& message) {
  const std::size_t bytes = message.topic.size() + message.payload.size();
  if (bytes > settings_.maximum_message_bytes) return Count(counters_.oversized);
  Count(counters_.received);
  Count(counters_.received_bytes, bytes);
  ++handed_over_;
  if (events_.on_message) events_.on_message(message);
}

PublishOutcome MqttLink::Publish(const std::string& topic, std::string_view payload, int qos,
                                 bool retained) {
  const PublishOutcome outcome = connection_ == nullptr
                                     ? PublishOutcome::kDown
                                     : connection_->Publish(topic, payload, qos, retained);
  switch (outcome) {
    case PublishOutcome::kAccepted:
      Count(counters_.published);
      Count(counters_.published_bytes, topic.size() + payload.size());
      break;
    case PublishOutcome::kFull:
      Count(counters_.refused_full);
      break;
    case PublishOutcome::kDown:
      Count(counters_.refused_down);
      break;
    case PublishOutcome::kRefused:
      Count(counters_.refused);
      break;
  }
  return outcome;
}

}  // namespace murmurate
