// PredictorLink: a Predictor's session with a stream: hello, samples on credit, answers, and
// beginning again when the stream is gone.
//
//        STREAM_OK, then all SAMPLES_COMMITTED
//   kAway --------------------------------> kLive        STREAM_HELLO: at once, then 2 ms, 4 ms ..
//   1 s
//     ^                                       |          (5 s after a refusal)
//     +--- silence, GOAWAY, not-registered ---+          what was unanswered comes back as such
//
// A sample lies in a slot, the one of its number modulo the credit, until Receive has given back
// its answer; so memory is that of `credit` samples, and kept from one to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/predictor.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

class PredictorLink {
 public:
  static constexpr std::int64_t kPingNs = 500 * kNanosecondsPerMillisecond;
  static constexpr std::int64_t kSilenceNs = 3 * kNanosecondsPerSecond;
  static constexpr std::int64_t kRefusedNs = 5 * kNanosecondsPerSecond;

  PredictorLink(std::string address, PredictorOptions options);
  ~PredictorLink();
  /// Begins to look for the stream. The status: the address, or no socket.
  Status Open();

  /// Of float or double.
  template <typename Number>
  Predictor::Sent Send(std::string_view device, std::span<const Number> values,
                       const Predictor::SampleOptions& options);
  bool Receive(Predictor::Answer* answer, int timeout_ms);
  Predictor::StateReport State() const;
  const Predictor::Stream& stream() const { return stream_; }
  std::uint64_t sessions() const { return sessions_; }
  std::optional<std::uint64_t> Committed(std::string_view device) const;
  std::size_t in_flight() const { return open_ + ready_.size() - given_; }

 private:
  enum class SlotState : std::uint8_t { kFree, kOpen, kReady };
  struct Slot {
    SlotState state = SlotState::kFree;
    std::uint64_t number = 0;
    Predictor::Answer answer;
  };

  void Drive();
  void Tick(std::int64_t now_ns);
  void SayHello(std::int64_t now_ns);
  void ReceiveSome();
  void Take(const wire::Decoded& decoded);
  void TakeOk(const wire::StreamOk& ok);
  void TakeCommitted(const wire::SamplesCommitted& committed);
  void TakeForecast(std::uint64_t number, wire::Forecast* forecast);
  void TakeError(const wire::Error& error, std::uint64_t number);
  Slot* OpenSlot(std::uint64_t number);
  void Finish(Slot* slot, Predictor::Outcome outcome);
  void Lose(const std::string& why, bool new_socket);
  bool Post(const wire::Body& body, std::uint64_t number);
  int WaitMs(std::int64_t until_ns) const;
  void Log(LogLevel level, const std::string& text) const;

  const std::string address_;
  const PredictorOptions options_;
  const std::uint64_t sender_;
  SocketContext context_;
  std::optional<Socket> socket_;
  Message message_;
  std::vector<std::span<const std::byte>> frames_;
  wire::Body sample_ = wire::Sample();

  bool live_ = false, refused_ = false;
  std::string reason_;
  Predictor::Stream stream_;
  std::uint64_t sessions_ = 0, incarnation_ = 0;
  std::uint32_t hello_number_ = 0, first_hello_ = 1;  ///< answers to earlier ones are of no use
  std::int64_t next_hello_ns_ = 0, hello_wait_ns_ = 0;
  bool doubles_ = false;   ///< the stream reads them
  bool welcomed_ = false;  ///< STREAM_OK has come, not yet all that is committed
  std::int64_t heard_ns_ = 0, pinged_ns_ = 0;
  std::int64_t asked_ns_ = 0;  ///< the first PING that nothing has come after; 0: none
  std::map<std::string, std::uint64_t, std::less<>> committed_;

  std::uint64_t last_number_ = 0;
  std::vector<Slot> slots_;         ///< [credit]
  std::size_t open_ = 0;            ///< slots that wait for their answer
  std::vector<std::size_t> ready_;  ///< slots in the order of their answers
  std::size_t given_ = 0;           ///< of ready_, its first ones
};

}  // namespace murmurate
