#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "server/command/commands.h"
#include "server/command/fleet_way.h"
#include "server/daemon/signals.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kBurst = 256;
constexpr int kLongestWaitMs = 50;
/// For what was sent last to be taken.
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

/// A fleet, its way to a learner, and what is told of both.
class FleetRun {
 public:
  FleetRun(const FleetArguments& arguments, bool quiet, std::unique_ptr<FleetWay> way)
      : arguments_(arguments),
        quiet_(quiet),
        way_(std::move(way)),
        fleet_({arguments.devices, arguments.seed, arguments.noise}),
        sender_(fleet_, SendingOf(arguments),
                [this](const FleetMessage& message) { return way_->Give(message); }),
        end_ns_(static_cast<std::int64_t>(arguments.seconds * 1e9)) {
    way_->TellTo(&sender_);
  }

  Result<int> Run() {
    Signals signals;
    while (!Over()) {
      const bool due = arguments_.rate > 0 || NowNs() < end_ns_;
      const int sent =
          due && way_->MaySend() ? sender_.Send(std::min(NowNs(), end_ns_), kBurst) : 0;
      way_->PollOnce(sent == kBurst ? 0 : WaitMs());
      if (!way_->broken().ok()) return way_->broken();
      ShowProgress();
      if (signals.Wait(0) == Signals::Event::kSignal) break;
    }
    if (Status status = Missed(); NowNs() >= end_ns_ && !status.ok()) return status;
    PrintSummary();
    return 0;
  }

 private:
  std::int64_t NowNs() const { return MonotonicNs() - began_ns_; }
  bool Delivered() const { return sender_.SentAll(end_ns_) && !way_->waits(); }
  bool Over() const {
    const std::int64_t now_ns = NowNs();
    return now_ns >= end_ns_ && (Delivered() || !way_->up() || now_ns >= end_ns_ + kGraceNs);
  }
  int WaitMs() const {
    const std::int64_t until_ns = std::min(sender_.NextDueNs(), end_ns_) - NowNs();
    return static_cast<int>(
        std::clamp<std::int64_t>(until_ns / kNanosecondsPerMillisecond + 1, 1, kLongestWaitMs));
  }

  /// Once a second, on a terminal.
  void ShowProgress() {
    if (quiet_ || Display::Suitable(stdout) != Display::Mode::kTable || NowNs() < next_show_ns_)
      return;
    next_show_ns_ = NowNs() + kNanosecondsPerSecond;
    shown_ = true;
    std::printf("\r%s of %s: %s messages, %s sent again\033[K",
                ShortDuration(static_cast<double>(NowNs()) * 1e-9).c_str(),
                ShortDuration(arguments_.seconds).c_str(), WithCommas(sender_.sent()).c_str(),
                WithCommas(sender_.sent_again()).c_str());
    std::fflush(stdout);
  }

  /// What is left undone at the end.
  Status Missed() const {
    if (Delivered() && way_->up()) return {};
    return ResourceError(WithCommas(sender_.sent()) + " messages were sent; " + way_->Trouble());
  }

  void PrintSummary() const {
    if (shown_) std::printf("\n");
    if (quiet_) return;
    const double seconds = static_cast<double>(std::max<std::int64_t>(NowNs(), 1)) * 1e-9;
    const double all = static_cast<double>(sender_.sent() + sender_.sent_again());
    std::printf("sent %s messages (%s again) of %d devices in %.1f s: %.0f messages/s\n",
                WithCommas(sender_.sent()).c_str(), WithCommas(sender_.sent_again()).c_str(),
                fleet_.devices(), seconds, all / seconds);
    std::printf("nobody can forecast their next temperatures better than to %.3f degrees\n",
                fleet_.BestError());
  }

  const FleetArguments& arguments_;
  const bool quiet_;
  const std::unique_ptr<FleetWay> way_;
  const Fleet fleet_;
  FleetSender sender_;
  const std::int64_t began_ns_ = MonotonicNs(), end_ns_;
  bool shown_ = false;
  std::int64_t next_show_ns_ = 0;
};

}  // namespace

Result<int> RunFleet(const CommonArguments& common, const FleetArguments& arguments) {
  if (Status status = Check(arguments); !status.ok()) return status;
  auto way = arguments.connect.empty() ? OpenBrokerWay(arguments, common.quiet)
                                       : OpenSampleWay(arguments, common.quiet);
  if (!way.ok()) return way.status();
  return FleetRun(arguments, common.quiet, *std::move(way)).Run();
}

}  // namespace murmurate
