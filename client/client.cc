#include "murmurate/client.h"

#include <new>
#include <system_error>

#include "client/client_core.h"
#include "client/misuse.h"
#include "client/model_patterns.h"
#include "client/stderr_log.h"
#include "shared/core/check.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

constexpr const char* kNoAgent = "this Agent is not valid: Client::last_error() says why";
constexpr const char* kGroupAct = "AgentGroup::Act";

/// Reads a policy from a file, or from memory when there is no path.
Result<WeightsFile> ReadPolicy(const std::string& path, const std::string& bytes) {
  Result<WeightsFile> file = path.empty()
                                 ? ParseWeightsFile(std::as_bytes(std::span<const char>(bytes)))
                                 : ReadWeightsFile(path);
  if (file.ok() && !file->spec.arrays.empty())
    return InvalidData((path.empty() ? "the policy" : path) +
                       " holds the arrays of a program of its own, which no game can play");
  // A checkpoint may read what no player sees.
  if (file.ok() && file->spec.spaces.privileged.kind != Space::Kind::kNone) return Published(*file);
  return file;
}

/// Returns what `make` gives: a client that warns on stderr where the game has set no log; or why
/// the system has no thread, no file descriptor or no memory for it.
template <typename Making>
Result<std::unique_ptr<Client>> Make(ClientOptions* options, Making make) try {
  if (!options->log && !options->quiet) options->log = StderrLog::Make();
  return std::unique_ptr<Client>(make());
} catch (const std::bad_alloc&) {
  return ResourceError("no memory for a client");
} catch (const std::system_error& error) {
  return ResourceError(std::string("no client: ") + error.what());
}

}  // namespace

const char* ToString(ClientState state) {
  switch (state) {
    case ClientState::kNoLearner:
      return "no learner";
    case ClientState::kWaitingForWeights:
      return "waiting for weights";
    case ClientState::kLive:
      return "live";
    case ClientState::kDegraded:
      return "degraded";
    case ClientState::kRefused:
      return "refused";
  }
  return "unknown";
}

PolicySource PolicySource::FromFile(std::string path) {
  PolicySource source;
  source.path_ = std::move(path);
  return source;
}

PolicySource PolicySource::FromMemory(std::string bytes) {
  PolicySource source;
  source.bytes_ = std::move(bytes);
  return source;
}

/// In a forked child nothing is closed: locks may have been held by threads that are not here, and
/// what wakes mmr-client is the parent's. The memory goes with the process.
void Agent::Close() {
  if (core_ == nullptr) return;
  if (core_->model()->wakeup->home.left()) {
    (void)new std::shared_ptr<AgentCore>(std::move(core_));
  } else {
    core_->Close();
  }
}

Agent::Agent(std::shared_ptr<AgentCore> core) : core_(std::move(core)) {}
Agent::Agent(Agent&&) noexcept = default;

Agent& Agent::operator=(Agent&& other) noexcept {
  if (this == &other) return *this;
  Close();
  core_ = std::move(other.core_);
  return *this;
}

Agent::~Agent() { Close(); }

int Agent::Act(std::span<const float> observation, std::span<const std::uint8_t> allowed) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Act", kNoAgent);
  core_->observation().Observe(observation);
  core_->observation().SetMask(allowed);
  core_->Step();
  return core_->action().choice();
}

void Agent::ActContinuous(std::span<const float> observation, std::span<float> action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::ActContinuous", kNoAgent);
  core_->observation().Observe(observation, "Agent::ActContinuous");
  core_->observation().SetMask({});
  core_->Step();
  core_->action().ReadAction(action);
}

void Agent::Act(const Observation& observation, Action* action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Act", kNoAgent);
  core_->observation().Observe(observation);
  core_->observation().SetMask(observation.mask());
  core_->Step();
  core_->action().ReadAction(action);
}

void Agent::Privileged(const Observation& observation) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Privileged", kNoAgent);
  if (!core_->observation().TryObservePrivileged(observation))
    FailMisuse("Agent::Privileged", core_->observation().CheckPrivileged(observation).message());
}

void Agent::Reward(double reward) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Reward", kNoAgent);
  core_->Reward(reward);
}

void Agent::End(EndKind kind, const Observation& final_observation) {
  End(kind, kNotSaid, final_observation);
}

void Agent::End(EndKind kind, Success success, const Observation& final_observation) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::End", kNoAgent);
  if (kind == kTruncated) {
    MURMURATE_EXPECT(!final_observation.parts().empty(), "Agent::End",
                     "End(kTruncated) needs the final observation: the one that life would have "
                     "gone on from");
    core_->observation().Observe(final_observation, "Agent::End");
  }
  core_->End(kind, success);
}

void Agent::Took(const Action& action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Took", kNoAgent);
  core_->Took(action);
}

void Agent::Took(int action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Took", kNoAgent);
  core_->Took(action);
}

void Agent::Took(int action, float log_prob) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Took", kNoAgent);
  core_->Took(action, log_prob);
}

void Agent::Took(const Action& action, float log_prob) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Took", kNoAgent);
  core_->Took(action, log_prob);
}

void Agent::Record(std::span<const float> observation, int action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Record", kNoAgent);
  core_->observation().Observe(observation, "Agent::Record");
  core_->observation().SetMask({});
  core_->Step();
  core_->Took(action, {}, "Agent::Record");
}

void Agent::Record(const Observation& observation, const Action& action) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Record", kNoAgent);
  core_->observation().Observe(observation, "Agent::Record");
  core_->observation().SetMask(observation.mask(), "Agent::Record");
  core_->Step();
  core_->Took(action, {}, "Agent::Record");
}

void Agent::Discard() {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Discard", kNoAgent);
  core_->Discard();
}

void Agent::Report(std::string_view name, double value) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Report", kNoAgent);
  core_->episode().Report(name, value);
}

void Agent::Mode(PlayMode mode) {
  MURMURATE_EXPECT(core_ != nullptr, "Agent::Mode", kNoAgent);
  core_->episode().SetMode(mode);
}

void AgentGroup::Check(std::size_t observations, std::size_t actions) {
  MURMURATE_EXPECT(observations == agents_.size() && actions == agents_.size(), kGroupAct,
                   std::to_string(observations) + " observations and room for " +
                       std::to_string(actions) + " actions, but the group has " +
                       std::to_string(agents_.size()) + " agents");
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    MURMURATE_EXPECT(agents_[i].core_ != nullptr, kGroupAct, kNoAgent);
    cores_[i] = agents_[i].core_.get();
  }
}

void AgentGroup::Act(std::span<const float> observations, std::span<std::int32_t> actions,
                     std::span<const std::uint8_t> allowed) {
  Check(agents_.size(), actions.size());
  if (agents_.empty()) return;
  const std::size_t width = observations.size() / agents_.size();
  const std::size_t choices = allowed.size() / agents_.size();
  MURMURATE_EXPECT(
      width * agents_.size() == observations.size() && choices * agents_.size() == allowed.size(),
      kGroupAct,
      std::to_string(observations.size()) + " numbers and a mask of " +
          std::to_string(allowed.size()) + " bytes are not as many for each of " +
          std::to_string(agents_.size()) + " agents");
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    cores_[i]->observation().Observe(observations.subspan(i * width, width), kGroupAct);
    cores_[i]->observation().SetMask(allowed.subspan(i * choices, choices), kGroupAct);
  }
  AgentCore::StepTogether(cores_);
  for (std::size_t i = 0; i < agents_.size(); ++i)
    actions[i] = cores_[i]->action().choice(kGroupAct);
}

void AgentGroup::Act(std::span<const Observation> observations, std::span<Action> actions) {
  Check(observations.size(), actions.size());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    cores_[i]->observation().Observe(observations[i], kGroupAct);
    cores_[i]->observation().SetMask(observations[i].mask(), kGroupAct);
  }
  AgentCore::StepTogether(cores_);
  for (std::size_t i = 0; i < agents_.size(); ++i) cores_[i]->action().ReadAction(&actions[i]);
}

Client::Client(std::unique_ptr<ClientCore> core) : core_(std::move(core)) {}
Client::~Client() {
  if (core_->home().left()) (void)core_.release();  // as Agent::Close
}

Result<std::unique_ptr<Client>> Client::Connect(const std::string& address, ClientOptions options) {
  if (const auto family = SisterAddresses(address); !family.ok()) return family.status();
  MURMURATE_RETURN_IF_ERROR(CheckConnectable(address));
  if (!wire::IsGoodName(options.name)) {
    return InvalidArgument("client name \"" + options.name +
                           "\": expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  MURMURATE_RETURN_IF_ERROR(CheckModelPatterns(options.models));
  if (options.deterministic) {
    return InvalidArgument(
        "ClientOptions::deterministic is for Client::Open: a client that learns must explore; take "
        "it out, or play Agent::Mode(kEvaluate)");
  }
  if (options.updates == Updates::kManual &&
      (options.pace != Pace::kNever || options.without_policy == WithoutPolicy::kWait)) {
    return InvalidArgument(
        "Updates::kManual with a pace or WithoutPolicy that waits: Act would wait for weights that "
        "only Update() loads; use Pace::kNever without kWait, or Updates::kAutomatic");
  }
  std::optional<WeightsFile> policy;
  if (!options.policy.empty()) {
    auto read = ReadPolicy(options.policy.path_, options.policy.bytes_);
    if (!read.ok()) return read.status();
    policy = std::move(*read);
  }
  return Make(&options, [&] {
    return new Client(std::make_unique<ClientCore>(address, std::move(options), std::move(policy)));
  });
}

Result<std::unique_ptr<Client>> Client::Open(ClientOptions options) {
  if (options.policy.empty()) {
    return InvalidArgument(
        "Client::Open plays a policy: set ClientOptions::policy to PolicySource::FromFile(path)");
  }
  MURMURATE_RETURN_IF_ERROR(CheckModelPatterns(options.models));
  auto policy = ReadPolicy(options.policy.path_, options.policy.bytes_);
  if (!policy.ok()) return policy.status();
  return Make(&options, [&] {
    return new Client(std::make_unique<ClientCore>("", std::move(options), std::move(*policy)));
  });
}

Agent Client::NewAgent(const AgentOptions& options) {
  auto core = core_->NewAgent(options, 1);
  core_->last_error = core.status();
  return core.ok() ? Agent(std::move(*core)) : Agent();
}

AgentGroup Client::NewAgentGroup(const AgentOptions& options, int size) {
  AgentGroup group;
  for (int i = 0; i < size; ++i) {
    auto core = core_->NewAgent(options, i == 0 ? size : 1, i + 1 < size);
    core_->last_error = core.status();
    if (!core.ok()) return AgentGroup();
    group.agents_.push_back(Agent(std::move(*core)));
  }
  group.cores_.resize(group.agents_.size());
  return group;
}

const Status& Client::last_error() const { return core_->last_error; }
StateReport Client::State() const { return core_->State(); }
ClientStats Client::Stats() const { return core_->Stats(); }
bool Client::should_stop() const { return core_->should_stop(); }

int Client::Update() { return core_->Update(); }

double Client::Setting(std::string_view name, double fallback) const {
  return core_->Setting(name, fallback);
}

Status Client::Save(const std::string& path, const std::string& model) const {
  return core_->Save(path, model);
}

}  // namespace murmurate
