#include "client/client_core.h"

#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

Status MadeElsewhere(const HomeProcess& home) {
  return Unavailable("this client belongs to process " + std::to_string(home.pid()) +
                     ", which forked this one: connect anew here");
}

}  // namespace

ClientCore::ClientCore(std::string address, ClientOptions options,
                       std::optional<WeightsFile> policy)
    : options_(std::move(options)),
      policy_(std::move(policy)),
      bell_(std::make_shared<SenderBell>()),
      settings_(std::make_shared<SettingsTable>()),
      roster_(options_, bell_, settings_),
      receiver_(options_.log,
                options_.pace == Pace::kNever && options_.updates == Updates::kAutomatic) {
  if (address.empty()) {
    bell_->closed.store(true, std::memory_order_release);
    return;
  }
  context_ = std::make_unique<SocketContext>();
  link_ = std::make_unique<LearnerLink>(*context_, std::move(address), options_, roster_, receiver_,
                                        bell_, settings_);
  if (options_.updates == Updates::kAutomatic) {
    weights_loop_ = std::make_unique<Loop>(
        "mmr-weights", [this] { receiver_.PollOnce(); }, [this] { receiver_.Stop(); });
  }
  client_loop_ = std::make_unique<Loop>(
      "mmr-client", [this] { link_->PollOnce(); }, [this] { bell_->wake.Set(); });
}

ClientCore::~ClientCore() {
  bell_->closed.store(true, std::memory_order_release);
  for (const RosterModel& entry : roster_.models()) entry.model->Progress();
  client_loop_.reset();
  if (link_ == nullptr) roster_.PassOnComplaints(options_.log);
  if (link_ != nullptr) link_->SayGoodbye();
  weights_loop_.reset();
}

Status ClientCore::PlayPolicy(ClientModel& model) {
  if (const std::string difference = FirstDifference(policy_->spec.spaces, model.spaces);
      !difference.empty()) {
    return InvalidArgument("the policy file is for other spaces than model " + model.name + ": " +
                           difference);
  }
  auto policies = std::make_shared<PolicySet>(policy_->spec, model.pins, model.deterministic);
  const ParameterLayout& layout = policies->layout();
  const std::span<const float> all = policy_->parameters;
  policies->Publish({0, policy_->version}, {},
                    all.subspan(layout.policy.offset, layout.policy.count),
                    all.subspan(layout.statistics.offset, layout.statistics.count));
  model.set_policies(std::move(policies));
  return {};
}

Result<std::shared_ptr<AgentCore>> ClientCore::NewAgent(const AgentOptions& options, int rows,
                                                        bool more_follow) {
  if (home().left()) return MadeElsewhere(home());
  auto agent = roster_.Add(options, rows, [this](ClientModel& model) {
    return policy_.has_value() ? PlayPolicy(model) : Status();
  });
  if (!agent.ok()) return agent;
  // Until the learner says what it wants recorded; agents that keep its pace wait for that.
  const auto policies = (*agent)->model()->policies();
  const bool at_once = link_ == nullptr || options_.pace == Pace::kNever || policy_.has_value();
  if (policies != nullptr && at_once) (*agent)->Fit(MakeGear(policies, rows, 0));
  if (more_follow) return agent;
  bell_->roster_changed.store(true, std::memory_order_release);
  bell_->wake.Set();
  return agent;
}

int ClientCore::Update() {
  const bool ours = options_.updates == Updates::kManual && !home().left();
  return ours ? receiver_.TakeNewer() : 0;
}

StateReport ClientCore::State() const {
  if (home().left()) return {ClientState::kNoLearner, MadeElsewhere(home()).message()};
  if (link_ != nullptr) return link_->State();
  return {ClientState::kNoLearner, "playing a policy file: there is no learner to connect to"};
}

ClientStats ClientCore::Stats() const {
  ClientStats stats;
  if (home().left()) return stats;
  const RosterCounts counts = roster_.AllCounts();
  stats.steps = counts.steps + counts.evaluation_steps;
  stats.steps_dropped = counts.steps_dropped;
  stats.trajectories_dropped = counts.trajectories_dropped;
  stats.steps_given_up = counts.steps_given_up;
  stats.weights_received = receiver_.received();
  if (const auto models = roster_.models(); !models.empty()) {
    const auto policies = models.front().model->policies();
    if (policies != nullptr) stats.version = policies->stamp().version;
  }
  if (link_ == nullptr) {
    roster_.PassOnComplaints(options_.log);
    return stats;
  }
  const LearnerLink::Numbers numbers = link_->numbers();
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
  const auto model = roster_.Find(model_name);
  if (model == nullptr) {
    return InvalidArgument("no agent of this client plays model " + model_name +
                           ": there is nothing to save");
  }
  if (!model->has_weights()) {
    return Unavailable("model " + model_name + " has no weights yet: save it when they have come");
  }
  const auto policies = model->policies();
  VersionStamp stamp;
  WeightsFile file{policies->spec(), 0, 0, policies->Parameters(&stamp)};
  file.version = stamp.version;
  const std::string bytes = FormatWeightsFile(file, true);
  return WriteFileAtomically(path, std::as_bytes(std::span<const char>(bytes)));
}

}  // namespace murmurate
