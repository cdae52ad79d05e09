#include "examples/sensors/fleet/fleet_sender.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

void Append(std::string* text, std::string_view key, double value) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 4);
  text->append(key).append(digits, end.ptr);
}

/// Seconds since 1970 with six digits behind the point.
void AppendTime(std::string* text, std::int64_t unix_ns) {
  const std::int64_t us = unix_ns / 1000;
  std::string fraction = std::to_string(us % 1'000'000);
  fraction.insert(0, 6 - fraction.size(), '0');
  text->append(",\"time\":").append(std::to_string(us / 1'000'000)).append(".").append(fraction);
}

}  // namespace

void WriteFleetPayload(const FleetMessage& message, std::string* payload) {
  payload->clear();
  Append(payload, "{\"temp\":", message.reading.temp);
  Append(payload, ",\"hum\":", message.reading.hum);
  Append(payload, ",\"vib\":", message.reading.vib);
  payload->append(",\"seq\":").append(std::to_string(message.number));
  AppendTime(payload, message.time_ns);
  *payload += '}';
}

FleetSender::FleetSender(const Fleet& fleet, const Settings& settings, Give give)
    : fleet_(fleet),
      settings_(settings),
      give_(std::move(give)),
      interval_ns_(settings.rate > 0 ? 1e9 / settings.rate : 0),
      pumps_(static_cast<std::size_t>(fleet.devices())) {
  MURMURATE_CHECK(settings.rate > 0 || !settings.drift_at_s, "a drift without a rate");
  for (std::size_t i = 0; i < pumps_.size(); ++i)
    pumps_[i].first_due_ns = static_cast<std::int64_t>(interval_ns_ * static_cast<double>(i) /
                                                       static_cast<double>(pumps_.size()));
}

std::uint64_t FleetSender::FirstUnsafe(const Pump& pump) {
  return std::max(pump.committed + 1, pump.first);
}

std::int64_t FleetSender::DueNs(const Pump& pump, std::uint64_t number) const {
  return pump.first_due_ns + std::llround(static_cast<double>(number - pump.first) * interval_ns_);
}

std::int64_t FleetSender::MadeNs(const Pump& pump, std::uint64_t number) const {
  if (interval_ns_ > 0) return DueNs(pump, number);
  return static_cast<std::int64_t>(number - 1) * 1000;
}

bool FleetSender::IsDue(const Pump& pump, std::int64_t now_ns) const {
  return interval_ns_ == 0 || DueNs(pump, pump.next) < now_ns;
}

/// Sends for the pumps in turns, so that none is far ahead of the others.
int FleetSender::Send(std::int64_t now_ns, int most) {
  int taken = 0;
  std::size_t waiting = pumps_.size();  // pumps in a row that had nothing due
  while (waiting > 0 && taken < most) {
    if (!IsDue(pumps_[turn_], now_ns)) {
      --waiting;
    } else if (!SendOne(static_cast<int>(turn_))) {
      break;
    } else {
      ++taken;
      waiting = pumps_.size();
    }
    turn_ = (turn_ + 1) % pumps_.size();
  }
  return taken;
}

bool FleetSender::SendOne(int device) {
  Pump& pump = pumps_[static_cast<std::size_t>(device)];
  if (!give_(MessageOf(device))) return false;
  ++(pump.next > pump.newest ? sent_ : sent_again_);
  pump.newest = std::max(pump.newest, pump.next);
  ++pump.next;
  return true;
}

FleetMessage FleetSender::MessageOf(int device) const {
  const Pump& pump = pumps_[static_cast<std::size_t>(device)];
  const std::int64_t made_ns = MadeNs(pump, pump.next);
  const bool drifted = settings_.drift_at_s && static_cast<double>(made_ns) >=
                                                   *settings_.drift_at_s * kNanosecondsPerSecond;
  return {device, pump.next, settings_.began_unix_ns + made_ns,
          fleet_.At(device, pump.next, drifted)};
}

std::int64_t FleetSender::NextDueNs() const {
  std::int64_t next_ns = std::numeric_limits<std::int64_t>::max();
  for (const Pump& pump : pumps_)
    next_ns = std::min(next_ns, interval_ns_ == 0 ? 0 : DueNs(pump, pump.next));
  return next_ns;
}

bool FleetSender::SentAll(std::int64_t now_ns) const {
  return interval_ns_ == 0 || NextDueNs() >= now_ns;
}

void FleetSender::OnCommitted(int device, std::uint64_t number) {
  Pump& pump = pumps_[static_cast<std::size_t>(device)];
  if (number > pump.newest) {
    pump.first += number - pump.newest;
    pump.newest = number;
  }
  const bool went_back = number < pump.committed;
  pump.committed = number;
  pump.next = std::max(pump.next, number + 1);
  if (went_back) pump.next = FirstUnsafe(pump);
}

void FleetSender::SendAgain() {
  for (Pump& pump : pumps_) pump.next = std::min(pump.next, FirstUnsafe(pump));
}

}  // namespace murmurate
