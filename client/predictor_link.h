// PredictorLink: a Predictor's socket to a stream: samples on credit, answers, and beginning again
// when the stream is gone (StreamSession). What was unanswered then comes back as such
// (AnswerSlots).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/answer_slots.h"
#include "client/dealer_socket.h"
#include "client/stream_session.h"
#include "murmurate/predictor.h"
#include "shared/wire/messages.h"

namespace murmurate {

class PredictorLink {
 public:
  PredictorLink(std::string address, PredictorOptions options);
  ~PredictorLink();
  /// Opens the socket to the stream. Fails when the address is wrong, or there is no socket.
  Status Open() { return socket_.Open(); }

  /// Sends a sample; Number is float or double.
  template <typename Number>
  Predictor::Sent Send(std::string_view device, std::span<const Number> values,
                       const Predictor::SampleOptions& options);
  bool Receive(Predictor::Answer* answer, int timeout_ms);
  Predictor::StateReport State() const;
  const Predictor::Stream& stream() const { return session_.stream(); }
  std::uint64_t sessions() const { return session_.sessions(); }
  std::optional<std::uint64_t> Committed(std::string_view device) const {
    return session_.Committed(device);
  }
  std::size_t in_flight() const { return slots_.in_flight(); }

 private:
  void Drive();
  void Tick(std::int64_t now_ns);
  void ReceiveSome();
  void OnMessage(const wire::Decoded& decoded);
  void OnForecast(std::uint64_t number, wire::Forecast* forecast);
  void OnError(const wire::Error& error, std::uint64_t number);
  void Lose(const std::string& why, bool new_socket);
  int WaitMs(std::int64_t until_ns) const;
  void Log(LogLevel level, const std::string& text) const;

  const std::string address_;
  const PredictorOptions options_;
  SocketContext context_;
  DealerSocket socket_;
  wire::Body sample_ = wire::Sample();
  StreamSession session_;
  AnswerSlots slots_;
};

}  // namespace murmurate
