// A stage for ingest tests: a live Ingest, driven by hand, and actors that speak the protocol word
// by word over real sockets.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "server/ingest/ingest.h"
#include "shared/core/clock.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

inline Spaces StageSpaces() { return {Box({2}), Discrete(2)}; }
inline constexpr int kStageLength = 4;  ///< T
inline constexpr std::uint64_t kStageIncarnation = 77;

inline PolicyAndValue StageSpec(const Spaces& spaces) {
  PolicyAndValue spec;
  spec.spaces = spaces;
  spec.trunk = {Layer{8, Activation::kTanh}};
  return spec;
}

/// One trajectory as an actor sends it: metadata and block.
struct Shipment {
  wire::Experience metadata;
  std::vector<std::byte> block;

  template <typename T>
  std::span<T> ColumnAs(Column column) {
    const ColumnRange& range = metadata.columns[static_cast<int>(column)];
    return {reinterpret_cast<T*>(block.data() + range.offset), range.bytes / sizeof(T)};
  }
};

/// Step i observes {base + i, -(base + i), ...}, rewards 10 (base + i); nothing ends.
inline Shipment MakeShipment(const TrajectoryLayout& layout, int steps, float base,
                             std::vector<EpisodeRecord> episodes = {}) {
  Shipment shipment;
  shipment.metadata.steps = static_cast<std::uint32_t>(steps);
  shipment.metadata.agent_steps = static_cast<std::uint64_t>(steps);
  const std::size_t n = static_cast<std::size_t>(steps);
  const std::size_t row = layout.row_bytes();
  const std::size_t sizes[kColumnCount] = {
      n * row, n * 4, n * 4, n * 4, n, 0, n > 0 ? row : 0, episodes.size() * sizeof(EpisodeRecord)};
  std::size_t end = 0;
  for (int c = 0; c < kColumnCount; ++c) {
    shipment.metadata.columns[c] = {layout.columns[c].offset, static_cast<std::uint32_t>(sizes[c])};
    if (sizes[c] > 0) end = std::max(end, layout.columns[c].offset + sizes[c]);
  }
  shipment.block.assign((end + 63) / 64 * 64, std::byte{0});
  const auto observation = shipment.ColumnAs<float>(Column::kObservation);
  for (std::size_t i = 0; i < observation.size(); ++i) {
    const std::size_t step = i / layout.row_words();
    observation[i] = (i % 2 == 0 ? 1.0f : -1.0f) * (base + static_cast<float>(step));
  }
  for (std::size_t i = 0; i < n; ++i) {
    shipment.ColumnAs<std::int32_t>(Column::kAction)[i] = static_cast<std::int32_t>(i % 2);
    shipment.ColumnAs<float>(Column::kLogProb)[i] = -0.5f - static_cast<float>(i);
    shipment.ColumnAs<float>(Column::kReward)[i] = 10 * (base + static_cast<float>(i));
  }
  if (n > 0) shipment.ColumnAs<float>(Column::kNextObservation)[0] = base + static_cast<float>(n);
  if (!episodes.empty()) {
    std::memcpy(shipment.ColumnAs<std::byte>(Column::kEpisodes).data(), episodes.data(),
                episodes.size() * sizeof(EpisodeRecord));
  }
  return shipment;
}

/// A peer: sends what it is told, keeps what it hears.
class StageActor {
 public:
  StageActor(SocketContext& context, const std::string& address, std::uint64_t sender,
             std::string name = "actor")
      : sender_(sender), name_(std::move(name)), socket_(OpenSocket(context, address)) {}

  bool SayHello(const std::vector<std::pair<std::string, Spaces>>& models, int agents = 1,
                Pace pace = Pace::kNever) {
    wire::Hello hello;
    hello.actor_name = name_;
    hello.pid = static_cast<std::uint32_t>(getpid());
    hello.pace = pace;
    for (const auto& [model, spaces] : models) {
      wire::HelloModel entry;
      entry.name = model;
      entry.spaces = spaces.ToText();
      for (int i = 0; i < agents; ++i) entry.agents.push_back(static_cast<std::uint32_t>(i));
      hello.models.push_back(entry);
    }
    return Send(hello, 0) == SendOutcome::kSent;
  }

  /// Numbers the shipment as the agent's next, and sends it. `sequence`: 0 for the next one.
  SendOutcome Ship(Shipment shipment, std::uint32_t agent = 0, std::uint32_t model = 0,
                   std::uint64_t sequence = 0) {
    shipment.metadata.model = model;
    shipment.metadata.agent = agent;
    shipment.metadata.first_step = taken_[{model, agent}];
    taken_[{model, agent}] += shipment.metadata.steps;
    shipment.metadata.agent_steps = taken_[{model, agent}];
    if (shipment.metadata.version > 0 && shipment.metadata.incarnation == 0)
      shipment.metadata.incarnation = incarnation_;
    return Send(shipment.metadata, sequence == 0 ? ++sequence_ : sequence, shipment.block);
  }

  SendOutcome Send(const wire::Body& body, std::uint64_t sequence,
                   std::span<const std::byte> block = {}) {
    const wire::Encoded encoded = wire::Encode(body, sender_, sequence, block.size());
    std::vector<std::span<const std::byte>> frames = {encoded.header, encoded.metadata};
    if (std::holds_alternative<wire::Experience>(body)) frames.push_back(block);
    return SendFrames(frames);
  }

  SendOutcome SendFrames(const std::vector<std::span<const std::byte>>& frames) {
    Message message;
    for (const auto& frame : frames) message.frames.emplace_back(frame);
    return socket_.TrySend(message);
  }

  /// Takes in whatever has arrived.
  void Listen() {
    Message message;
    while (socket_.TryReceive(&message)) {
      std::vector<std::span<const std::byte>> frames;
      for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
      auto decoded = wire::Decode(frames);
      if (auto* good = std::get_if<wire::Decoded>(&decoded)) OnBody(good->body);
    }
  }

  std::uint64_t sent() const { return sequence_; }

  std::optional<wire::HelloOk> welcome;
  wire::Accepted accepted;
  std::vector<wire::Error> errors;
  std::vector<wire::Goaway> goaways;
  std::vector<wire::Committed> committed;
  int pongs = 0;

 private:
  static Socket OpenSocket(SocketContext& context, const std::string& address) {
    auto socket = Socket::Open(context, SocketKind::kDealer);
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    const Status connected = socket->Connect(address);
    EXPECT_TRUE(connected.ok()) << connected.message();
    return *std::move(socket);
  }

  void OnBody(const wire::Body& body) {
    if (const auto* hello_ok = std::get_if<wire::HelloOk>(&body)) {
      welcome = *hello_ok;
      incarnation_ = hello_ok->incarnation;
    }
    if (const auto* credit = std::get_if<wire::Accepted>(&body)) accepted = *credit;
    if (const auto* error = std::get_if<wire::Error>(&body)) errors.push_back(*error);
    if (const auto* goaway = std::get_if<wire::Goaway>(&body)) goaways.push_back(*goaway);
    if (const auto* kept = std::get_if<wire::Committed>(&body)) committed.push_back(*kept);
    if (std::holds_alternative<wire::Pong>(body)) ++pongs;
  }

  const std::uint64_t sender_;
  const std::string name_;
  Socket socket_;
  std::uint64_t sequence_ = 0, incarnation_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> taken_;
};

/// A live Ingest whose models are made on first sight; tests play the learning thread by hand.
class Stage {
 public:
  struct Settings {
    std::vector<std::string> listen = {"tcp://127.0.0.1:*"};
    int batch_trajectories = 2;
    double max_batch_s = 1e9;
    wire::ServerSession::Limits limits = {};
    LogCallback log = {};
    std::function<void(const std::string&, std::span<const EpisodeRecord>)> on_evaluated = {};
    double quorum = 0;  ///< above 0: of a model that takes the current version only
    bool resumed = false;
    /// The test calls MakeModels; then also what is called as each model is made.
    bool models_apart = false;
    std::function<void(const std::string&)> on_making = {};
  };

  explicit Stage(Settings settings) : settings_(std::move(settings)) {
    IngestOptions options;
    options.listen = settings_.listen;
    options.incarnation = kStageIncarnation;
    options.resumed = settings_.resumed;
    options.limits = settings_.limits;
    options.log = settings_.log;
    options.models_apart = settings_.models_apart;
    options.on_evaluated = settings_.on_evaluated;
    auto opened = Ingest::Open(context, options, [this](const std::string& name, const Spaces& s) {
      return Offer(name, s);
    });
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    ingest = *std::move(opened);
  }

  std::unique_ptr<StageActor> NewActor(std::uint64_t sender, std::string name = "actor",
                                       std::size_t address = 0) {
    auto actor = std::make_unique<StageActor>(context, ingest->addresses()[address], sender,
                                              std::move(name));
    return actor;
  }

  /// An actor whose HELLO has been answered.
  std::unique_ptr<StageActor> NewLiveActor(std::uint64_t sender, int agents = 1,
                                           Pace pace = Pace::kNever, std::string name = "actor") {
    auto actor = NewActor(sender, std::move(name));
    Greet(*actor, {{"default", StageSpaces()}}, agents, pace);
    return actor;
  }

  void Greet(StageActor& actor, const std::vector<std::pair<std::string, Spaces>>& models,
             int agents = 1, Pace pace = Pace::kNever) {
    // IMMEDIATE sockets send nothing before the connection stands: say hello until it is heard.
    bool said = false;
    EXPECT_TRUE(Until(actor, [&] {
      if (!said) said = actor.SayHello(models, agents, pace);
      return actor.welcome.has_value() || !actor.errors.empty();
    }));
  }

  /// Rounds until `done`, for ten seconds at most.
  bool Until(StageActor& actor, const std::function<bool()>& done) {
    return UntilAll({&actor}, done);
  }
  bool UntilAll(const std::vector<StageActor*>& actors, const std::function<bool()>& done) {
    const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
    while (MonotonicNs() < deadline) {
      ingest->PollOnce(1);
      for (StageActor* actor : actors) actor->Listen();
      if (done()) return true;
    }
    return false;
  }

  ExperienceChannel& channel(const std::string& model = "default") { return *channels.at(model); }

  /// The learning thread's part: a full batch, when there is one.
  std::unique_ptr<TrainingBatch> PopBatch(const std::string& model = "default") {
    auto batch = channel(model).ready.TryPop();
    return batch ? std::move(*batch) : nullptr;
  }
  void ReturnUnused(std::unique_ptr<TrainingBatch> batch, const std::string& model = "default") {
    channel(model).credit += batch->trajectories.size();
    channel(model).version += 1;
    EXPECT_TRUE(channel(model).empty.TryPush(std::move(batch)));
    ingest->Wake();
  }

  SocketContext context;
  std::unique_ptr<Ingest> ingest;
  std::map<std::string, std::shared_ptr<ExperienceChannel>> channels;

 private:
  Result<OfferedModel> Offer(const std::string& name, const Spaces& spaces) {
    if (settings_.on_making) settings_.on_making(name);
    if (name == "forbidden") return InvalidArgument("model forbidden is not for you; use default");
    channels[name] = std::make_shared<ExperienceChannel>(StageSpec(spaces), kStageLength,
                                                         settings_.batch_trajectories);
    channels[name]->version = 1;
    OfferedModel offered;
    offered.channel = channels[name];
    offered.max_batch_s = settings_.max_batch_s;
    offered.current_only = settings_.quorum > 0;
    offered.quorum = settings_.quorum;
    offered.quorum_wait_s = 0;
    return offered;
  }

  Settings settings_;
};

}  // namespace murmurate
