#include <time.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "server/commands.h"
#include "server/operate/display.h"
#include "server/signals.h"
#include "server/stream/fleet.h"
#include "server/stream/fleet_sender.h"
#include "server/stream/mqtt_link.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kBurst = 256;
constexpr int kLongestWaitMs = 50;
/// For the broker to acknowledge what was sent last.
constexpr std::int64_t kGraceNs = 5 * kNanosecondsPerSecond;

Status CheckTopic(const char* option, const std::string& topic) {
  if (IsTopic(TopicFor(topic, "a")) && TopicFor(topic, "a") != TopicFor(topic, "b")) return {};
  return InvalidArgument(std::string(option) + ": got \"" + topic +
                         "\", expected a topic with {device} in it, such as "
                         "sensors/{device}/data");
}

Status Check(const FleetArguments& arguments) {
  if (Status status = CheckTopic("--topic", arguments.topic); !status.ok()) return status;
  if (!arguments.committed.empty())
    if (Status status = CheckTopic("--committed", arguments.committed); !status.ok()) return status;
  if (!arguments.drift_at_s || arguments.rate > 0) return {};
  return InvalidArgument(
      "--drift-at: got --rate max beside it, expected a rate, which says which message is sent at "
      "that moment; give --rate a number");
}

MqttSettings LinkOf(const FleetArguments& arguments) {
  MqttSettings settings;
  settings.broker = arguments.broker;
  settings.insecure = arguments.insecure;
  for (const std::string& topic : {TopicFor(arguments.committed, "+"), arguments.status})
    if (!topic.empty()) settings.subscriptions.push_back({topic, 1});
  return settings;
}

FleetSender::Settings SendingOf(const FleetArguments& arguments) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return {arguments.topic, arguments.rate, now.tv_sec * kNanosecondsPerSecond + now.tv_nsec,
          arguments.drift_at_s};
}

/// A fleet, its way to the broker, and what is told of both.
class FleetRun {
 public:
  FleetRun(const FleetArguments& arguments, bool quiet)
      : arguments_(arguments),
        quiet_(quiet),
        fleet_({arguments.devices, arguments.seed, arguments.noise}),
        sender_(fleet_, SendingOf(arguments),
                [this](const std::string& topic, std::string_view payload) {
                  return Publish(topic, payload);
                }),
        end_ns_(static_cast<std::int64_t>(arguments.seconds * 1e9)) {
    if (arguments.committed.empty()) return;
    for (int i = 0; i < fleet_.devices(); ++i)
      devices_[TopicFor(arguments.committed, Fleet::NameOf(i))] = i;
  }

  Status Open() {
    auto link =
        MqttLink::Open(LinkOf(arguments_),
                       {[this](const MqttMessage& message) { TakeMessage(message); },
                        [this](bool up, const std::string& sentence) { TakeState(up, sentence); }});
    if (!link.ok()) return link.status();
    link_ = *std::move(link);
    return {};
  }

  Result<int> Run() {
    Signals signals;
    while (!Over()) {
      const bool due = arguments_.rate > 0 || NowNs() < end_ns_;
      const int sent =
          due && link_->up() && !Held() ? sender_.Send(std::min(NowNs(), end_ns_), kBurst) : 0;
      link_->PollOnce(sent == kBurst ? 0 : WaitMs());
      if (!refused_.ok()) return refused_;
      ShowProgress();
      if (signals.Wait(0) == Signals::Event::kSignal) break;
    }
    if (Status status = Missed(); NowNs() >= end_ns_ && !status.ok()) return status;
    PrintSummary();
    return 0;
  }

 private:
  std::int64_t NowNs() const { return MonotonicNs() - began_ns_; }
  bool Delivered() const { return sender_.SentAll(end_ns_) && link_->in_flight() == 0; }
  bool Over() const {
    const std::int64_t now_ns = NowNs();
    return now_ns >= end_ns_ && (Delivered() || !link_->up() || now_ns >= end_ns_ + kGraceNs);
  }
  /// What is sent to nobody would be a gap to who comes then and gets what is sent next.
  bool Held() const { return !arguments_.status.empty() && !learner_is_there_; }
  int WaitMs() const {
    const std::int64_t until_ns = std::min(sender_.NextDueNs(), end_ns_) - NowNs();
    return static_cast<int>(
        std::clamp<std::int64_t>(until_ns / kNanosecondsPerMillisecond + 1, 1, kLongestWaitMs));
  }

  bool Publish(const std::string& topic, std::string_view payload) {
    const PublishOutcome outcome = link_->Publish(topic, payload, 1);
    if (outcome == PublishOutcome::kRefused)
      refused_ = InvalidArgument("the broker takes no message of " +
                                 std::to_string(payload.size()) + " bytes under " + topic +
                                 " with qos 1; ask whoever runs it, or give another --topic");
    return outcome == PublishOutcome::kAccepted;
  }

  void TakeState(bool up, const std::string& sentence) {
    trouble_ = up ? "" : sentence;
    if (!up) learner_is_there_ = false;  // what was kept for us may come before `up`
    if (up && !arguments_.committed.empty()) sender_.SendAgain();
    if (!quiet_ && (!up || told_))
      std::cerr << sentence << (up ? "\n" : " (trying again until the end)\n");
    told_ = !up;
  }

  void TakeMessage(const MqttMessage& message) {
    const auto device = devices_.find(std::string(message.topic));
    if (device != devices_.end()) {
      TakeCommitted(device->second, message);
      if (!message.retained) FindLearner();  // or who would have said it?
      return;
    }
    if (message.topic != arguments_.status) return;
    // What a broker kept from before a loss may be of a learner that has not found it again.
    if (message.retained && link_->counters().losses > 0) return;
    if (message.payload.find("offline") == message.payload.npos) return FindLearner();
    learner_is_there_ = false;
  }

  void FindLearner() {
    const bool back = !std::exchange(learner_is_there_, true);
    if (back && !arguments_.committed.empty()) sender_.SendAgain();
  }

  void TakeCommitted(int device, const MqttMessage& message) {
    const auto said = nlohmann::json::parse(message.payload, nullptr, /*allow_exceptions=*/false);
    const auto number = said.is_object() ? said.find("sequence") : said.end();
    if (number != said.end() && number->is_number_unsigned())
      return sender_.OnCommitted(device, number->get<std::uint64_t>());
    if (!std::exchange(told_of_committed_, true))
      std::cerr << message.topic << ": got \"" << message.payload.substr(0, 80)
                << "\", expected {\"sequence\":NUMBER}; passed over\n";
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
    if (Delivered() && link_->up()) return {};
    const std::string messages = WithCommas(sender_.sent()) + " messages were sent; ";
    if (!trouble_.empty()) return ResourceError(messages + trouble_);
    if (Held())
      return ResourceError(messages + "the rest waits for a learner, and none says under " +
                           arguments_.status +
                           " that it is there; start it, or leave out --status");
    return ResourceError(messages + "broker " + link_->address().ToString() +
                         " did not take the rest in time; give a lower --rate");
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
  const Fleet fleet_;
  FleetSender sender_;
  const std::int64_t began_ns_ = MonotonicNs(), end_ns_;
  std::unordered_map<std::string, int> devices_;  ///< by topic of what is committed
  std::string trouble_;                           ///< why there is no connection
  Status refused_;
  bool learner_is_there_ = false, told_ = false, told_of_committed_ = false, shown_ = false;
  std::int64_t next_show_ns_ = 0;
  std::unique_ptr<MqttLink> link_;
};

}  // namespace

Result<int> RunFleet(const CommonArguments& common, const FleetArguments& arguments) {
  if (Status status = Check(arguments); !status.ok()) return status;
  FleetRun run(arguments, common.quiet);
  if (Status status = run.Open(); !status.ok()) return status;
  return run.Run();
}

}  // namespace murmurate
