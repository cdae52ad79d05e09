#include "examples/sensors/fleet/fleet_run.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "examples/sensors/fleet/fleet_transport.h"
#include "server/daemon/signals.h"
#include "server/metrics/number_text.h"
#include "server/operate/display.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kBurst = 256;
constexpr int kLongestWaitMs = 50;
/// The time after the end in which what was sent last may still be taken.
constexpr std::int64_t kGraceNs = 5 * kNanosecondsPerSecond;

Status Check(const FleetArguments& arguments) {
  if (!arguments.drift_at_s || arguments.rate > 0) return {};
  return InvalidArgument(
      "--drift-at: got --rate max beside it, expected a rate, which says which message is sent at "
      "that moment; give --rate a number");
}

FleetSender::Settings SendingOf(const FleetArguments& arguments) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return {arguments.rate, now.tv_sec * kNanosecondsPerSecond + now.tv_nsec, arguments.drift_at_s};
}

/// A fleet, its transport to a learner, and what the user is told of both.
class FleetRun {
 public:
  FleetRun(const FleetArguments& arguments, std::unique_ptr<FleetTransport> transport)
      : arguments_(arguments),
        transport_(std::move(transport)),
        fleet_({arguments.devices, arguments.seed, arguments.noise}),
        sender_(fleet_, SendingOf(arguments),
                [this](const FleetMessage& message) { return transport_->TrySend(message); }),
        end_ns_(static_cast<std::int64_t>(arguments.seconds * 1e9)) {
    transport_->SetSender(&sender_);
  }

  Status Run() {
    Signals signals;
    while (!Over()) {
      const bool due = arguments_.rate > 0 || NowNs() < end_ns_;
      const int sent =
          due && transport_->MaySend() ? sender_.Send(std::min(NowNs(), end_ns_), kBurst) : 0;
      transport_->PollOnce(sent == kBurst ? 0 : WaitMs());
      if (!transport_->broken().ok()) return transport_->broken();
      ShowProgress();
      if (signals.Wait(0) == Signals::Event::kSignal) break;
    }
    if (Status status = Missed(); NowNs() >= end_ns_ && !status.ok()) return status;
    PrintSummary();
    return {};
  }

 private:
  std::int64_t NowNs() const { return MonotonicNs() - began_ns_; }
  bool Delivered() const { return sender_.SentAll(end_ns_) && !transport_->waits(); }
  bool Over() const {
    const std::int64_t now_ns = NowNs();
    return now_ns >= end_ns_ && (Delivered() || !transport_->up() || now_ns >= end_ns_ + kGraceNs);
  }
  int WaitMs() const {
    const std::int64_t until_ns = std::min(sender_.NextDueNs(), end_ns_) - NowNs();
    return static_cast<int>(
        std::clamp<std::int64_t>(until_ns / kNanosecondsPerMillisecond + 1, 1, kLongestWaitMs));
  }

  /// Shows the progress once a second, on a terminal.
  void ShowProgress() {
    if (arguments_.quiet || Display::Suitable(stdout) != Display::Mode::kTable ||
        NowNs() < next_show_ns_)
      return;
    next_show_ns_ = NowNs() + kNanosecondsPerSecond;
    shown_ = true;
    std::printf("\r%s of %s: %s messages, %s sent again\033[K",
                ShortDuration(static_cast<double>(NowNs()) * 1e-9).c_str(),
                ShortDuration(arguments_.seconds).c_str(), WithCommas(sender_.sent()).c_str(),
                WithCommas(sender_.sent_again()).c_str());
    std::fflush(stdout);
  }

  /// The error of a run whose messages were not all taken.
  Status Missed() const {
    if (Delivered() && transport_->up()) return {};
    return ResourceError(WithCommas(sender_.sent()) + " messages were sent; " +
                         transport_->Trouble());
  }

  void PrintSummary() const {
    if (shown_) std::printf("\n");
    if (arguments_.quiet) return;
    const double seconds = static_cast<double>(std::max<std::int64_t>(NowNs(), 1)) * 1e-9;
    const double all = static_cast<double>(sender_.sent() + sender_.sent_again());
    std::printf("sent %s messages (%s again) of %d devices in %.1f s: %.0f messages/s\n",
                WithCommas(sender_.sent()).c_str(), WithCommas(sender_.sent_again()).c_str(),
                fleet_.devices(), seconds, all / seconds);
    std::printf("the best possible error of a forecast is %.3f degrees\n", fleet_.BestError());
  }

  const FleetArguments& arguments_;
  const std::unique_ptr<FleetTransport> transport_;
  const Fleet fleet_;
  FleetSender sender_;
  const std::int64_t began_ns_ = MonotonicNs(), end_ns_;
  bool shown_ = false;
  std::int64_t next_show_ns_ = 0;
};

}  // namespace

Status RunFleet(const FleetArguments& arguments) {
  if (Status status = Check(arguments); !status.ok()) return status;
  auto transport =
      arguments.connect.empty() ? OpenBrokerTransport(arguments) : OpenSampleTransport(arguments);
  if (!transport.ok()) return transport.status();
  return FleetRun(arguments, *std::move(transport)).Run();
}

}  // namespace murmurate
