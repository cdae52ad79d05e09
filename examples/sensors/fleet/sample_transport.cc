// A fleet that sends its samples straight to a stream that listens.
#include <iostream>
#include <utility>
#include <vector>

#include "examples/sensors/fleet/fleet_transport.h"
#include "murmurate/predictor.h"

namespace murmurate {
namespace {

constexpr int kMostAnswers = 1024;  ///< of one round

class SampleTransport : public FleetTransport {
 public:
  SampleTransport(const FleetArguments& arguments, std::unique_ptr<Predictor> predictor)
      : connect_(arguments.connect), quiet_(arguments.quiet), predictor_(std::move(predictor)) {
    for (int i = 0; i < arguments.devices; ++i) names_.push_back(Fleet::NameOf(i));
  }

  bool up() const override { return live_; }
  bool MaySend() const override { return live_; }
  bool waits() const override { return predictor_->in_flight() > 0; }
  Status broken() const override { return refused_; }
  std::string Trouble() const override {
    const Predictor::StateReport state = predictor_->State();
    return state.reason.empty()
               ? "the stream at " + connect_ + " did not take the rest in time; give a lower --rate"
               : state.reason;
  }

  bool TrySend(const FleetMessage& message) override {
    const PumpReading& reading = message.reading;
    const double values[] = {reading.temp, reading.hum, reading.vib};
    // Another session since the last round begins again from what is committed: first that.
    if (sessions_ != predictor_->sessions()) return false;
    return predictor_->Send(names_[static_cast<std::size_t>(message.device)], values,
                            {message.time_ns, message.number}) == Predictor::Sent::kTaken;
  }

  void PollOnce(int timeout_ms) override {
    int wait_ms = timeout_ms;
    for (int i = 0; i < kMostAnswers && predictor_->Receive(&answer_, wait_ms); ++i, wait_ms = 0)
      ReceiveAnswer();
    const Predictor::StateReport state = predictor_->State();
    if (state.phase == Predictor::Phase::kRefused)
      refused_ = InvalidArgument(connect_ + ": " + state.reason);
    if (sessions_ != predictor_->sessions()) Begin();
    Tell(state);
  }

 private:
  /// Messages that the stream has lost since the last session go out again.
  void Begin() {
    sessions_ = predictor_->sessions();
    for (std::size_t i = 0; i < names_.size(); ++i)
      sender_->OnCommitted(static_cast<int>(i), predictor_->Committed(names_[i]).value_or(0));
    sender_->SendAgain();
  }

  void Tell(const Predictor::StateReport& state) {
    const bool was_live = std::exchange(live_, state.phase == Predictor::Phase::kLive);
    if (quiet_ || was_live == live_ || (live_ && sessions_ == 1)) return;
    if (live_)
      std::cerr << "the stream at " << connect_ << ": connected\n";
    else
      std::cerr << state.reason << " (trying again until the end)\n";
  }

  void ReceiveAnswer() {
    if (answer_.outcome != Predictor::Outcome::kRefused || answer_.reason == "duplicate") return;
    if (!std::exchange(told_of_refusal_, true))
      std::cerr << answer_.device << ": refused (" << answer_.reason << "): " << answer_.sentence
                << '\n';
  }

  const std::string connect_;
  const bool quiet_;
  std::vector<std::string> names_;
  std::uint64_t sessions_ = 0;
  bool live_ = false, told_of_refusal_ = false;
  Status refused_;
  Predictor::Answer answer_;
  std::unique_ptr<Predictor> predictor_;
};

}  // namespace

Result<std::unique_ptr<FleetTransport>> OpenSampleTransport(const FleetArguments& arguments) {
  PredictorOptions options;
  options.name = "fleet";
  options.fields = {"temp", "hum", "vib"};
  auto predictor = Predictor::Connect(arguments.connect, std::move(options));
  if (!predictor.ok())
    return Status(predictor.status().code(), "--connect: " + predictor.status().message());
  return std::unique_ptr<FleetTransport>(
      std::make_unique<SampleTransport>(arguments, *std::move(predictor)));
}

}  // namespace murmurate
