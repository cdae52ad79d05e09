// A fleet that publishes to a broker, and reads there what the learner says.
#include <iostream>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "examples/sensors/fleet/fleet_transport.h"
#include "server/stream/mqtt_link.h"

namespace murmurate {
namespace {

/// `topic` with `device` in place of each {device}.
std::string TopicFor(std::string topic, const std::string& device) {
  constexpr std::string_view kDevice = "{device}";
  for (std::size_t at = topic.find(kDevice); at != std::string::npos;
       at = topic.find(kDevice, at + device.size()))
    topic.replace(at, kDevice.size(), device);
  return topic;
}

Status CheckTopic(const char* option, const std::string& topic) {
  if (IsTopic(TopicFor(topic, "a")) && TopicFor(topic, "a") != TopicFor(topic, "b")) return {};
  return InvalidArgument(std::string(option) + ": got \"" + topic +
                         "\", expected a topic with {device} in it, such as "
                         "sensors/{device}/data");
}

MqttSettings LinkOf(const FleetArguments& arguments) {
  MqttSettings settings;
  settings.broker = arguments.broker;
  settings.insecure = arguments.insecure;
  for (const std::string& topic : {TopicFor(arguments.committed, "+"), arguments.status})
    if (!topic.empty()) settings.subscriptions.push_back({topic, 1});
  return settings;
}

class BrokerTransport : public FleetTransport {
 public:
  explicit BrokerTransport(const FleetArguments& arguments) : arguments_(arguments) {
    for (int i = 0; i < arguments.devices; ++i) {
      topics_.push_back(TopicFor(arguments.topic, Fleet::NameOf(i)));
      if (!arguments.committed.empty())
        devices_[TopicFor(arguments.committed, Fleet::NameOf(i))] = i;
    }
  }

  Status Open() {
    auto link =
        MqttLink::Open(LinkOf(arguments_),
                       {[this](const MqttMessage& message) { OnMessage(message); },
                        [this](bool up, const std::string& sentence) { OnState(up, sentence); }});
    if (!link.ok()) return link.status();
    link_ = *std::move(link);
    return {};
  }

  bool up() const override { return link_->up(); }
  bool MaySend() const override { return link_->up() && !Held(); }
  void PollOnce(int timeout_ms) override { link_->PollOnce(timeout_ms); }
  bool waits() const override { return link_->in_flight() > 0; }
  Status broken() const override { return refused_; }

  bool TrySend(const FleetMessage& message) override {
    const std::string& topic = topics_[static_cast<std::size_t>(message.device)];
    WriteFleetPayload(message, &payload_);
    const PublishOutcome outcome = link_->Publish(topic, payload_, 1);
    if (outcome == PublishOutcome::kRefused)
      refused_ = InvalidArgument("the broker takes no message of " +
                                 std::to_string(payload_.size()) + " bytes under " + topic +
                                 " with qos 1; ask its administrator, or give another --topic");
    return outcome == PublishOutcome::kAccepted;
  }

  std::string Trouble() const override {
    if (!trouble_.empty()) return trouble_;
    if (Held())
      return "the rest waits for a learner, and none says under " + arguments_.status +
             " that it is there; start it, or leave out --status";
    return "broker " + link_->address().ToString() +
           " did not take the rest in time; give a lower --rate";
  }

 private:
  /// A message that no learner receives would be a gap to the learner that comes later.
  bool Held() const { return !arguments_.status.empty() && !learner_is_there_; }

  void OnState(bool up, const std::string& sentence) {
    trouble_ = up ? "" : sentence;
    if (!up) learner_is_there_ = false;  // what was kept for us may come before `up`
    if (up && !arguments_.committed.empty()) sender_->SendAgain();
    if (!arguments_.quiet && (!up || told_))
      std::cerr << sentence << (up ? "\n" : " (trying again until the end)\n");
    told_ = !up;
  }

  void OnMessage(const MqttMessage& message) {
    const auto device = devices_.find(std::string(message.topic));
    if (device != devices_.end()) {
      OnCommitted(device->second, message);
      if (!message.retained) FindLearner();  // only a learner that is there says so
      return;
    }
    if (message.topic != arguments_.status) return;
    // A message kept from before a loss may be of a learner that has not found the broker again.
    if (message.retained && link_->counters().losses > 0) return;
    if (message.payload.find("offline") == message.payload.npos) return FindLearner();
    learner_is_there_ = false;
  }

  void FindLearner() {
    const bool back = !std::exchange(learner_is_there_, true);
    if (back && !arguments_.committed.empty()) sender_->SendAgain();
  }

  void OnCommitted(int device, const MqttMessage& message) {
    const auto said = nlohmann::json::parse(message.payload, nullptr, /*allow_exceptions=*/false);
    const auto number = said.is_object() ? said.find("sequence") : said.end();
    if (number != said.end() && number->is_number_unsigned())
      return sender_->OnCommitted(device, number->get<std::uint64_t>());
    if (!std::exchange(told_of_committed_, true))
      std::cerr << message.topic << ": got \"" << message.payload.substr(0, 80)
                << "\", expected {\"sequence\":NUMBER}; passed over\n";
  }

  const FleetArguments& arguments_;
  std::vector<std::string> topics_;               ///< by device
  std::unordered_map<std::string, int> devices_;  ///< by topic of what is committed
  std::string payload_;
  std::string trouble_;  ///< why there is no connection
  Status refused_;
  bool learner_is_there_ = false, told_ = false, told_of_committed_ = false;
  std::unique_ptr<MqttLink> link_;
};

}  // namespace

Result<std::unique_ptr<FleetTransport>> OpenBrokerTransport(const FleetArguments& arguments) {
  if (Status status = CheckTopic("--topic", arguments.topic); !status.ok()) return status;
  if (!arguments.committed.empty())
    if (Status status = CheckTopic("--committed", arguments.committed); !status.ok()) return status;
  auto transport = std::make_unique<BrokerTransport>(arguments);
  if (Status status = transport->Open(); !status.ok()) return status;
  return std::unique_ptr<FleetTransport>(std::move(transport));
}

}  // namespace murmurate
