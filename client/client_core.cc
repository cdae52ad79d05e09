#include "client/client_core.h"

#include <exception>
#include <functional>
#include <utility>

#include "client/model_patterns.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

Status MadeElsewhere(const HomeProcess& home) {
  return Unavailable("this client belongs to process " + std::to_string(home.pid()) +
                     ", which forked this one: connect anew here");
}

constexpr int kSecondTryMs = 1000;

/// Memory may run out, and a log callback throw: the game plays on, and `again` is called. Each
/// sentence is said once.
class Enduring {
 public:
  Enduring(std::function<void()> work, std::function<void()> again, const LogCallback& log)
      : work_(std::move(work)), again_(std::move(again)), log_(log) {}
  void operator()() {
    try {
      work_();
    } catch (const std::exception& error) {
      Say(error.what());
      again_();
    }
  }

 private:
  void Say(const std::string& what) {
    if (what == said_ || !log_) return;
    said_ = what;
    try {
      log_(LogLevel::kError, "playing on without the learner, trying again: " + what);
    } catch (const std::exception&) {  // it is the one that throws
    }
  }
  const std::function<void()> work_, again_;
  const LogCallback& log_;
  std::string said_;
};

}  // namespace

ClientCore::ClientCore(std::string address, ClientOptions options,
                       std::optional<WeightsFile> policy)
    : options_(std::move(options)),
      policy_(std::move(policy)),
      wakeup_(std::make_shared<SenderWakeup>()),
      settings_(std::make_shared<SettingsTable>()),
      registry_(options_, wakeup_, settings_),
      receiver_(options_.log,
                options_.pace == Pace::kNever && options_.updates == Updates::kAutomatic) {
  if (address.empty()) {
    wakeup_->closed.store(true, std::memory_order_release);
    return;
  }
  context_ = std::make_unique<SocketContext>();
  link_ = std::make_unique<LearnerLink>(*context_, std::move(address), options_, registry_,
                                        receiver_, wakeup_, settings_);
  const auto introduce_again = [this] {
    Poller(&wakeup_->wake).Wait({}, kSecondTryMs);
    wakeup_->registry_changed.store(true, std::memory_order_release);
  };
  if (options_.updates == Updates::kAutomatic) {
    weights_loop_ = std::make_unique<Loop>(
        "mmr-weights", Enduring([this] { receiver_.PollOnce(); }, introduce_again, options_.log),
        [this] { receiver_.Stop(); });
  }
  client_loop_ = std::make_unique<Loop>(
      "mmr-client", Enduring([this] { link_->PollOnce(); }, introduce_again, options_.log),
      [this] { wakeup_->wake.Set(); });
}

ClientCore::~ClientCore() { Stop(); }

void ClientCore::Stop() {
  if (std::exchange(stopped_, true)) return;
  wakeup_->closed.store(true, std::memory_order_release);
  for (const RegisteredModel& entry : registry_.models()) entry.model->wait.Progress();
  client_loop_.reset();
  Hear();
  if (link_ != nullptr) link_->Leave();
  weights_loop_.reset();
  context_.reset();
}

Status ClientCore::PlayPolicy(ClientModel& model) {
  Spaces played = model.spaces;
  played.privileged = {};  // no policy reads it
  if (const std::string difference = FirstDifference(policy_->spec.spaces, played);
      !difference.empty()) {
    return InvalidArgument("the policy file is for other spaces than model " + model.name + ": " +
                           difference);
  }
  auto policies = std::make_shared<PolicySet>(policy_->spec, model.pins, model.deterministic);
  const ParameterLayout& layout = policies->layout();
  const std::span<const float> all = policy_->parameters;
  policies->Publish({0, policy_->version}, {},
                    all.subspan(layout.published.offset, layout.published.count),
                    all.subspan(layout.statistics.offset, layout.statistics.count));
  model.weights.SetPolicies(std::move(policies));
  return {};
}

Result<std::shared_ptr<AgentCore>> ClientCore::NewAgent(const AgentOptions& options, int rows,
                                                        bool more_follow) {
  if (home().left()) return MadeElsewhere(home());
  if (link_ == nullptr && wakeup_->registry_changed.exchange(false, std::memory_order_acq_rel)) {
    Hear();
    registry_.RemoveClosed([](const AgentCore&, std::size_t) { return true; });
  }
  if (link_ != nullptr && registry_.agents() >= wire::kMaxAgents) {
    return InvalidArgument("a client plays at most " + std::to_string(wire::kMaxAgents) +
                           " agents: connect a second client for more");
  }
  AgentOptions mapped = options;
  mapped.model = ModelOf(options_.models, options.model);
  auto agent = registry_.Add(mapped, rows, [this](ClientModel& model) {
    return policy_.has_value() ? PlayPolicy(model) : Status();
  });
  if (!agent.ok()) return agent;
  // It records nothing until the learner says what; agents that keep its pace wait for that.
  auto shape = (*agent)->model()->weights.shape();
  const bool at_once = link_ == nullptr || options_.pace == Pace::kNever || policy_.has_value();
  if (shape != nullptr && at_once)
    (*agent)->shared().Fit(MakeAgentBuffers(std::move(shape), rows, nullptr));
  if (more_follow || link_ == nullptr) return agent;
  wakeup_->registry_changed.store(true, std::memory_order_release);
  wakeup_->wake.Set();
  return agent;
}

int ClientCore::Update() {
  const bool ours = options_.updates == Updates::kManual && !home().left();
  return ours ? receiver_.ReceiveNewer() : 0;
}

StateReport ClientCore::State() const {
  if (home().left()) return {ClientState::kNoLearner, MadeElsewhere(home()).message()};
  if (link_ != nullptr) return link_->state().report();
  return {ClientState::kNoLearner, "playing a policy file: there is no learner to connect to"};
}

void ClientCore::Hear() const {
  if (link_ != nullptr || !wakeup_->complained.exchange(false, std::memory_order_acq_rel)) return;
  registry_.PassOnComplaints(options_.log);
}

ClientStats ClientCore::Stats() const {
  ClientStats stats;
  if (home().left()) return stats;
  const RegistryCounts counts = registry_.AllCounts();
  stats.steps = counts.steps + counts.evaluation_steps;
  stats.steps_dropped = counts.steps_dropped;
  stats.trajectories_dropped = counts.trajectories_dropped;
  stats.steps_given_up = counts.steps_given_up;
  stats.rewards_not_finite = counts.rewards_not_finite;
  stats.weights_received = receiver_.received();
  if (const auto models = registry_.models(); !models.empty()) {
    const auto policies = models.front().model->weights.policies();
    if (policies != nullptr) stats.version = policies->stamp().version;
  }
  Hear();
  if (link_ == nullptr) return stats;
  const LinkState::Numbers numbers = link_->state().numbers();
  stats.trajectories_sent = numbers.totals.sent;
  stats.steps_dropped += numbers.totals.steps_dropped;
  stats.trajectories_dropped += numbers.totals.trajectories_dropped;
  stats.trajectories_refused = numbers.refused;
  stats.reconnects = numbers.reconnects;
  stats.trajectories_committed = numbers.trajectories_committed;
  stats.steps_committed = numbers.steps_committed;
  stats.trajectories_lost = numbers.lost;
  return stats;
}

Status ClientCore::Save(const std::string& path, const std::string& model_name) const {
  if (home().left()) return MadeElsewhere(home());
  const auto model = registry_.Find(model_name);
  if (model == nullptr) {
    return InvalidArgument("no agent of this client plays model " + model_name +
                           ": there is nothing to save");
  }
  const auto policies = model->weights.policies();
  if (policies == nullptr || policies->empty()) {
    return Unavailable("model " + model_name + " has no weights yet: save it when they have come");
  }
  VersionStamp stamp;
  WeightsFile file{policies->spec(), 0, 0, policies->Parameters(&stamp)};
  file.version = stamp.version;
  const std::string bytes = FormatWeightsFile(file, true);
  return WriteFileAtomically(path, std::as_bytes(std::span<const char>(bytes)));
}

}  // namespace murmurate
