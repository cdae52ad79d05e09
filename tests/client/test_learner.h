// A learner made of the rooms below the client: it welcomes, gives credit, publishes, and keeps
// every trajectory as it came. Driven by PollOnce on the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/session/server_session.h"
#include "shared/core/clock.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/publishing.h"
#include "tests/client/workbench.h"

namespace murmurate {

struct ReceivedTrajectory {
  wire::Experience metadata;
  std::uint32_t agent_index = 0;
  AlignedFloats block;
  TrajectoryView view;
};

struct TestLearnerOptions {
  int trajectory_length = 16;
  int outstanding = 64;  ///< trajectories
  int batch = 4;         ///< trajectories; also what lock-step credit is divided from
  std::uint64_t incarnation = 100;
  bool resumed = false, shm = true, release = true;
  bool changes = true;  ///< trajectories may go on under newer versions
  double evaluation_share = 0.0;
  std::uint64_t version = 0;  ///< of a resumed model: there before its first actor
  std::uint32_t max_trajectory_ms = 60000;
  ModelSpec model = SmallSpec();  ///< whatever the spaces are
};

class TestLearner : public wire::ServerSession::Models {
 public:
  TestLearner(const std::string& address, TestLearnerOptions options)
      : options_(options),
        session_(options.incarnation, options.resumed, 1, {}),
        family_(*SisterAddresses(address)) {
    auto socket = Socket::Open(context_, SocketKind::kRouter);
    EXPECT_TRUE(socket.ok()) << socket.status();
    socket_ = std::make_unique<Socket>(*std::move(socket));
    const Status bound = socket_->Bind(address);
    EXPECT_TRUE(bound.ok()) << bound;
    auto publishing = Publishing::Open(
        context_,
        {family_.announce, family_.weights, "test", options.incarnation, options.shm, {}});
    EXPECT_TRUE(publishing.ok()) << publishing.status();
    publishing_ = *std::move(publishing);
    session_.SetAddresses(publishing_->announce_address(), publishing_->weights_address(),
                          HostIdentity());
  }

  Result<std::uint32_t> Lookup(const std::string& name, const std::string& text) override {
    auto spaces = Spaces::Parse(text);
    if (!spaces.ok()) return spaces.status();
    if (const auto known = numbers_.find(name); known != numbers_.end()) {
      const std::string difference = FirstDifference(specs_[known->second].spaces, *spaces);
      if (!difference.empty()) return InvalidArgument("model " + name + ": " + difference);
      return known->second;
    }
    ModelSpec spec = options_.model;
    spec.spaces = *spaces;
    auto segment = publishing_->AddModel(name, spec, false);
    if (!segment.ok()) return segment.status();
    wire::SessionModel model;
    model.welcome.name = name;
    model.welcome.id = wire::ModelId(name);
    model.welcome.spec = spec.ToText();
    model.welcome.trajectory_length = static_cast<std::uint32_t>(options_.trajectory_length);
    model.welcome.max_trajectory_ms = options_.max_trajectory_ms;
    model.welcome.changes = options_.changes;
    model.welcome.evaluation_share = options_.evaluation_share;
    model.welcome.segment = *segment;
    model.block_bytes = TrajectoryLayout(spec, options_.trajectory_length).block_bytes;
    model.outstanding_limit = options_.outstanding;
    model.batch_trajectories = options_.batch;
    specs_.push_back(spec);
    numbers_[name] = session_.AddModel(std::move(model));
    session_.SetVersion(numbers_[name], options_.version);
    if (load) {
      const Status loaded = session_.Load(numbers_[name], StateReader(*load, "session"));
      EXPECT_TRUE(loaded.ok()) << loaded;
    }
    return numbers_[name];
  }

  void PollOnce(int timeout_ms = 1) {
    Socket* sockets[] = {socket_.get()};
    Poller(&wake_).Wait(sockets, timeout_ms);
    const std::int64_t now_ns = MonotonicNs();
    Message message;
    while (!deaf && socket_->TryReceive(&message)) OnMessage(message, now_ns);
    session_.OnTick(now_ns);
    for (auto& reply : session_.PopReplies()) Send(reply);
    publishing_->PollOnce(0);
  }

  void Publish(const std::string& model, std::uint64_t version, ActSettings act = {}) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->version = version;
    snapshot->act = act;
    snapshot->parameters = SomeParameters(specs_[numbers_.at(model)], version);
    publishing_->Post(model, std::move(snapshot));
    session_.SetVersion(numbers_.at(model), version);
    publishing_->PollOnce(0);
  }
  /// What was received has been trained on.
  void Release(int count, std::uint64_t version) {
    session_.ReleaseTrajectories(0, count, version, MonotonicNs());
  }
  void SayGoaway(bool restart_expected, std::uint32_t deadline_ms = 5000) {
    session_.SayGoaway({"going home", deadline_ms, restart_expected});
  }

  bool knows(const std::string& model) const { return numbers_.contains(model); }
  wire::ServerSession& session() { return session_; }

  std::vector<std::unique_ptr<ReceivedTrajectory>> received;
  std::optional<SavedState> load;  ///< the first model goes on from it
  bool deaf = false;               ///< neither hears nor answers

 private:
  void OnMessage(const Message& message, std::int64_t now_ns) {
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    auto decoded = wire::Decode(frames);
    ASSERT_TRUE(std::holds_alternative<wire::Decoded>(decoded))
        << std::get<wire::DecodeFailure>(decoded).sentence;
    const auto& good = std::get<wire::Decoded>(decoded);
    if (!std::holds_alternative<wire::Experience>(good.body)) {
      return session_.OnMessage(message.peer, good, *this, now_ns);
    }
    const auto verdict = session_.OnExperience(message.peer, good, now_ns);
    ASSERT_FALSE(verdict.duplicate);
    if (!verdict.accept) return;
    auto kept = std::make_unique<ReceivedTrajectory>();
    kept->metadata = std::get<wire::Experience>(good.body);
    kept->agent_index = verdict.agent_index;
    kept->block = AlignedFloats(good.block.size() / sizeof(float) + 1);
    std::memcpy(kept->block.data(), good.block.data(), good.block.size());
    const TrajectoryLayout layout(specs_[verdict.model], options_.trajectory_length);
    const auto bytes = std::as_bytes(std::span<const float>(kept->block)).first(good.block.size());
    const Status viewed = wire::ViewTrajectory(kept->metadata, bytes, layout, &kept->view);
    ASSERT_TRUE(viewed.ok()) << viewed;
    const Status checked = CheckTrajectory(kept->view, layout);
    ASSERT_TRUE(checked.ok()) << checked;
    session_.Acknowledge(message.peer, good, wire::Refusal::kNone, "", now_ns);
    if (options_.release && kept->metadata.steps > 0) {
      session_.ReleaseTrajectories(verdict.model, 1, 0, now_ns);
    }
    received.push_back(std::move(kept));
  }

  void Send(const wire::ServerSession::Reply& reply) {
    if (deaf) return;
    const wire::Encoded encoded = wire::Encode(reply.body, options_.incarnation, reply.sequence);
    Message message;
    message.peer = reply.peer;
    message.frames.emplace_back(encoded.header);
    message.frames.emplace_back(encoded.metadata);
    (void)socket_->TrySend(message);
  }

  const TestLearnerOptions options_;
  SocketContext context_;
  wire::ServerSession session_;
  const AddressFamily family_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<Publishing> publishing_;
  WakeSignal wake_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<ModelSpec> specs_;
};

/// Repeats `work` until `until` holds; false after ten seconds.
template <typename Work, typename Condition>
bool Until(Work work, Condition until) {
  const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
  while (!until()) {
    if (MonotonicNs() > deadline) return false;
    work();
  }
  return true;
}

}  // namespace murmurate
