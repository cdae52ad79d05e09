#include "shared/weights/publishing.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr std::int64_t kHeartbeatNs = kNanosecondsPerSecond;
constexpr std::int64_t kPulledLatelyNs = 60 * kNanosecondsPerSecond;

struct Model {
  std::unique_ptr<SharedMemoryPublisher> segment;  // null: by network only
  std::unique_ptr<WeightPublisher> network;
  std::shared_ptr<const Snapshot> posted;    // the mailbox, under the mutex
  std::shared_ptr<const Snapshot> unshared;  // not yet on the network; the publishing thread's own
  std::int64_t last_pull_ns = -kPulledLatelyNs;
};

}  // namespace

struct Publishing::State {
  Options options;
  std::unique_ptr<NetworkWeightServer> server;
  WakeSignal signal;
  std::mutex mutex;  // of the map and the mailboxes
  std::map<std::string, Model> models;
  std::int64_t next_heartbeat_ns = 0;

  void Log(LogLevel level, const std::string& sentence) {
    if (options.log) options.log(level, sentence);
  }
  void PublishPosted();
  void ShareOnNetwork(Model& model);
  bool Heartbeats(std::int64_t now_ns);
  void OnPull(const std::string& name);
};

void Publishing::State::PublishPosted() {
  std::vector<std::pair<Model*, std::shared_ptr<const Snapshot>>> work;
  {
    std::lock_guard lock(mutex);
    for (auto& [name, model] : models) {
      if (model.posted) work.emplace_back(&model, std::move(model.posted));
    }
  }
  for (auto& [model, snapshot] : work) {
    if (model->segment) {
      const Status status = model->segment->Publish(*snapshot);
      if (!status.ok()) Log(LogLevel::kError, status.message());
    }
    model->unshared = std::move(snapshot);
  }
  const std::int64_t now_ns = MonotonicNs();
  for (auto& [model, taken] : work) {
    if (!model->segment || now_ns - model->last_pull_ns < kPulledLatelyNs) ShareOnNetwork(*model);
  }
}

void Publishing::State::ShareOnNetwork(Model& model) {
  if (!model.unshared) return;
  const Status status = model.network->Publish(*model.unshared);
  if (!status.ok()) Log(LogLevel::kError, status.message());
  model.unshared.reset();
}

/// Whether there is a model whose heartbeat goes on.
bool Publishing::State::Heartbeats(std::int64_t now_ns) {
  std::lock_guard lock(mutex);
  if (models.empty() || now_ns < next_heartbeat_ns) return !models.empty();
  next_heartbeat_ns = now_ns + kHeartbeatNs;
  for (auto& [name, model] : models) {
    if (model.segment) model.segment->Heartbeat();
  }
  return true;
}

void Publishing::State::OnPull(const std::string& name) {
  Model* model = nullptr;
  {
    std::lock_guard lock(mutex);
    const auto found = models.find(name);
    if (found == models.end()) return;
    model = &found->second;
  }
  model->last_pull_ns = MonotonicNs();
  // guard: PublishingTest.ModelWithASegmentIsOnTheNetworkForWhoeverPullsIt: a model that is pulled
  //   is put onto the network first
  ShareOnNetwork(*model);
}

Result<std::unique_ptr<Publishing>> Publishing::Open(SocketContext& context, Options options) {
  auto server = NetworkWeightServer::Open(context, options.announce_address,
                                          options.weights_address, options.incarnation);
  if (!server.ok()) return server.status();
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->server = *std::move(server);
  return std::unique_ptr<Publishing>(new Publishing(std::move(state)));
}

Publishing::Publishing(std::unique_ptr<State> state) : state_(std::move(state)) {}
Publishing::~Publishing() = default;

Result<std::string> Publishing::AddModel(const std::string& model, const ModelSpec& spec,
                                         bool require_shm) {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->models.find(model);
  if (found != state_->models.end()) {
    return found->second.segment ? found->second.segment->name() : std::string();
  }
  Model made;
  if (state_->options.shm || require_shm) {
    const Options& options = state_->options;
    auto segment = SharedMemoryPublisher::Create(
        SegmentName(options.run, model, options.incarnation), spec, options.incarnation);
    if (segment.ok()) {
      made.segment = *std::move(segment);
    } else if (require_shm) {
      return segment.status();
    } else {
      state_->Log(LogLevel::kWarning,
                  segment.status().message() + "; weights go over the network instead");
    }
  }
  made.network = state_->server->AddModel(model, spec);
  const Model& added = state_->models.emplace(model, std::move(made)).first->second;
  return added.segment ? added.segment->name() : std::string();
}

void Publishing::Post(const std::string& model, std::shared_ptr<const Snapshot> snapshot) {
  {
    // guard: PublishingTest.ModelsAreAddedWhileOthersArePublished (tsan): the mailboxes have a
    //   mutex
    std::lock_guard lock(state_->mutex);
    const auto found = state_->models.find(model);
    MURMURATE_CHECK(found != state_->models.end(), "AddModel comes before Post");
    found->second.posted = std::move(snapshot);
  }
  // guard: PublishingTest.PostWakesTheThreadThatPolls: a post wakes the thread that publishes
  state_->signal.Set();
}

void Publishing::PollOnce(int timeout_ms) {
  state_->PublishPosted();
  if (state_->Heartbeats(MonotonicNs())) {
    const std::int64_t quiet_ms =
        (state_->next_heartbeat_ns - MonotonicNs()) / kNanosecondsPerMillisecond + 1;
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(quiet_ms, 0, std::max(timeout_ms, 0)));
  }
  state_->server->PollOnce(timeout_ms, &state_->signal,
                           [this](const std::string& name) { state_->OnPull(name); });
}

void Publishing::Wake() { state_->signal.Set(); }

std::string Publishing::announce_address() const { return state_->server->announce_address(); }
std::string Publishing::weights_address() const { return state_->server->weights_address(); }

}  // namespace murmurate
