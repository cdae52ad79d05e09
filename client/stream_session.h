// StreamSession: a Predictor's session with a stream as a state machine without a socket or a
// clock: its owner hands it messages and the time, and sends what is due.
//
//        STREAM_OK, then all SAMPLES_COMMITTED
//   away --------------------------------> live       STREAM_HELLO: at once, then 2 ms, 4 ms .. 1 s
//     ^                                      |        (5 s after a refusal); PING after 500 ms of
//     +--- silence, GOAWAY, not registered --+        silence
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "murmurate/predictor.h"
#include "shared/core/clock.h"
#include "shared/wire/actor_messages.h"
#include "shared/wire/stream_messages.h"

namespace murmurate {

class StreamSession {
 public:
  static constexpr std::int64_t kPingNs = 500 * kNanosecondsPerMillisecond;
  static constexpr std::int64_t kSilenceNs = 3 * kNanosecondsPerSecond;
  static constexpr std::int64_t kRefusedNs = 5 * kNanosecondsPerSecond;

  /// kHello, kPing: to be sent now. kLost: a PING has had no answer for kSilenceNs.
  enum class Due : std::uint8_t { kNothing, kHello, kPing, kLost };
  /// To be called after what has come was read, so that a pause of the caller's is no silence of
  /// the stream's.
  Due OnTick(std::int64_t now_ns);
  /// The time at which OnTick has something to do unless something is heard first.
  std::int64_t NextTickNs(std::int64_t now_ns) const;
  void OnHeard(std::int64_t now_ns) { heard_ns_ = now_ns; }
  /// False for an answer that is of no use: to a STREAM_HELLO of an earlier session.
  bool OnOk(const wire::StreamOk& ok);
  void OnCommitted(const wire::SamplesCommitted& committed);
  /// An ERROR that is no sample's. True when it refuses the session for a reason not yet known.
  bool OnRefused(const wire::Error& error, std::int64_t now_ns);
  /// The session is over; the next STREAM_HELLO is due at once.
  void OnLost(const std::string& why);
  /// There is no socket to say hello with.
  void OnNoSocket(const std::string& why) { reason_ = why; }

  bool live() const { return live_; }
  bool refused() const { return refused_; }
  const std::string& reason() const { return reason_; }         ///< why it is not live
  std::uint32_t hello_number() const { return hello_number_; }  ///< of the STREAM_HELLO due
  const Predictor::Stream& stream() const { return stream_; }
  bool reads_doubles() const { return reads_doubles_; }  ///< the stream
  std::uint64_t sessions() const { return sessions_; }   ///< begun so far
  std::optional<std::uint64_t> Committed(std::string_view device) const;

 private:
  bool live_ = false, refused_ = false;
  bool welcomed_ = false;  ///< STREAM_OK has come, not yet all that is committed
  std::string reason_;
  Predictor::Stream stream_;
  bool reads_doubles_ = false;
  std::uint64_t sessions_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> committed_;
  std::uint32_t hello_number_ = 0, first_hello_ = 1;  ///< answers to earlier ones are of no use
  std::int64_t next_hello_ns_ = 0, hello_wait_ns_ = 0;
  std::int64_t heard_ns_ = 0, pinged_ns_ = 0;
  std::int64_t asked_ns_ = 0;  ///< the first PING that nothing has come after; 0: none
};

}  // namespace murmurate
