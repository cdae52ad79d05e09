// FleetSender: which message of which pump goes out when, and which go out once more.
//
//   committed        next             made
//   ----|--------------|----------------|------->  numbers of one pump, from 1
//       forget these   sent, not safe   due, not sent (no connection, or no room)
//
// A pump's messages are due at an even rate, the pumps a little after each other. What is due waits
// here for a connection: nothing must be kept for that, since a Fleet makes any message again. What
// a learner has committed to disk is safe; SendAgain goes back to what follows. A receiver that
// counts sequence numbers drops older ones than its newest, so SendAgain must come before anything
// newer is sent to a receiver that has lost some.
//
// One thread; waits for nothing. Time is a number of nanoseconds since the fleet began.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "examples/sensors/fleet/fleet.h"

namespace murmurate {

/// One message of one pump.
struct FleetMessage {
  int device = 0;
  std::uint64_t number = 0;
  std::int64_t time_ns = 0;  ///< since 1970 began
  PumpReading reading;
};
/// {"temp":21.5000,"hum":40.0000,"vib":0.2000,"seq":7,"time":1700000000.500000}
void WriteFleetPayload(const FleetMessage& message, std::string* payload);

class FleetSender {
 public:
  struct Settings {
    double rate = 1;  ///< messages a second of each pump; 0: all that is taken
    std::int64_t began_unix_ns = 0;
    std::optional<double> drift_at_s;  ///< needs a rate
  };
  /// False: no room or no connection now; the message is offered again.
  using Give = std::function<bool(const FleetMessage&)>;

  FleetSender(const Fleet& fleet, const Settings& settings, Give give);

  /// Offers what is due before `now_ns`, oldest number first, at most `most` messages, until one is
  /// not taken. Returns how many were.
  int Send(std::int64_t now_ns, int most);
  /// No message is due before; that of now if one waits.
  std::int64_t NextDueNs() const;
  /// True when all that was due before `now_ns` has been taken; always without a rate, since
  /// nothing is due then.
  bool SentAll(std::int64_t now_ns) const;

  /// All messages of a pump up to `number` are safe. Less than before: the learner has gone back,
  /// and what follows goes out again. Beyond what was sent: an earlier fleet sent it, and this one
  /// goes on from there (and never back before that).
  void OnCommitted(int device, std::uint64_t number);
  void SendAgain();

  std::uint64_t sent() const { return sent_; }  ///< for the first time
  std::uint64_t sent_again() const { return sent_again_; }

 private:
  struct Pump {
    std::uint64_t first = 1;  ///< due at first_due_ns
    std::uint64_t next = 1, newest = 0, committed = 0;
    std::int64_t first_due_ns = 0;
  };

  static std::uint64_t FirstUnsafe(const Pump& pump);
  std::int64_t DueNs(const Pump& pump, std::uint64_t number) const;
  /// The time that a message carries: the same whenever it is sent. Without a rate, messages are
  /// 1 us apart.
  std::int64_t MadeNs(const Pump& pump, std::uint64_t number) const;
  bool IsDue(const Pump& pump, std::int64_t now_ns) const;
  bool SendOne(int device);
  FleetMessage MessageOf(int device) const;

  const Fleet& fleet_;
  const Settings settings_;
  const Give give_;
  const double interval_ns_;  ///< of one pump; 0: no rate
  std::vector<Pump> pumps_;
  std::size_t turn_ = 0;  ///< the pump that sends next
  std::uint64_t sent_ = 0, sent_again_ = 0;
};

}  // namespace murmurate
