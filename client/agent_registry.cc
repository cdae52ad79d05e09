#include "client/agent_registry.h"

#include <algorithm>

#include "client/game_action.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

Status CheckDefaultAction(const Space& space, const Action& action) {
  if (action.empty()) return Status();
  const ActionLayout layout(space);
  if (!HasPartsOf(layout, action)) {
    return InvalidArgument(
        "default_action has other parts than the action space: make it with Action(space) and set "
        "its choices and numbers");
  }
  const Status status = layout.CheckAction(WordsOf(action).data());
  return status.ok() ? status : InvalidArgument("default_action: " + status.message());
}

}  // namespace

void RegistryCounts::Add(const AgentCounts& counts) {
  steps += counts.steps.load(std::memory_order_relaxed);
  evaluation_steps += counts.evaluation_steps.load(std::memory_order_relaxed);
  steps_dropped += counts.steps_dropped.load(std::memory_order_relaxed);
  trajectories_dropped += counts.trajectories_dropped.load(std::memory_order_relaxed);
  steps_given_up += counts.steps_given_up.load(std::memory_order_relaxed);
  rewards_not_finite += counts.rewards_not_finite.load(std::memory_order_relaxed);
  steps_overrun += counts.steps_overrun.load(std::memory_order_relaxed);
}

Result<std::shared_ptr<AgentCore>> AgentRegistry::Add(
    const AgentOptions& options, int rows, const std::function<Status(ClientModel&)>& prepare) {
  const Spaces spaces{options.observation, options.action, options.privileged};
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spaces));
  if (!wire::IsGoodName(options.model)) {
    return InvalidArgument("model name \"" + options.model +
                           "\": expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  MURMURATE_RETURN_IF_ERROR(CheckDefaultAction(spaces.action, options.default_action));
  std::lock_guard lock(mutex_);
  auto found = std::find_if(models_.begin(), models_.end(), [&](const RegisteredModel& entry) {
    return entry.model->name == options.model;
  });
  if (found == models_.end()) {
    if (models_.size() == kMaxModels) {
      return InvalidArgument("a client plays at most " + std::to_string(kMaxModels) +
                             " models: connect a second client for more");
    }
    auto model = std::make_shared<ClientModel>(options.model, spaces, options_, wakeup_, settings_);
    MURMURATE_RETURN_IF_ERROR(prepare(*model));
    models_.push_back({std::move(model), {}, {}});
    found = std::prev(models_.end());
  }
  if (const std::string difference = FirstDifference(found->model->spaces, spaces);
      !difference.empty()) {
    return InvalidArgument("model " + options.model + " of this client has other spaces: " +
                           difference + "; give this agent another AgentOptions::model");
  }
  ++revision_;
  found->agents.push_back(std::make_shared<AgentCore>(found->model, next_number_++,
                                                      options.default_action, std::max(rows, 1)));
  return found->agents.back();
}

std::vector<RegisteredModel> AgentRegistry::models() const {
  std::lock_guard lock(mutex_);
  return models_;
}

void AgentRegistry::CopyModels(std::vector<RegisteredModel>* models,
                               std::uint64_t* revision) const {
  std::lock_guard lock(mutex_);
  if (*revision == revision_) return;
  *models = models_;
  *revision = revision_;
}

std::shared_ptr<ClientModel> AgentRegistry::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const RegisteredModel& entry : models_) {
    if (entry.model->name == name) return entry.model;
  }
  return nullptr;
}

std::vector<wire::HelloModel> AgentRegistry::HelloModels() const {
  std::vector<wire::HelloModel> hello;
  for (const RegisteredModel& entry : models()) {
    wire::HelloModel& model = hello.emplace_back();
    model.name = entry.model->name;
    model.spaces = entry.model->spaces.ToText();
    for (const auto& agent : entry.agents) model.agents.push_back(agent->shared().number());
    const auto policies = entry.model->weights.policies();
    if (policies == nullptr || policies->empty()) continue;
    const VersionStamp stamp = policies->stamp();
    if (stamp.incarnation == 0) continue;
    model.holds_incarnation = stamp.incarnation;
    model.holds_version = stamp.version;
  }
  return hello;
}

RegistryCounts AgentRegistry::CountsOf(const RegisteredModel& entry) {
  RegistryCounts counts = entry.closed;
  for (const auto& agent : entry.agents) counts.Add(agent->shared().counts());
  return counts;
}

RegistryCounts AgentRegistry::Counts(std::size_t model) const {
  std::lock_guard lock(mutex_);
  return CountsOf(models_[model]);
}

RegistryCounts AgentRegistry::AllCounts() const {
  std::lock_guard lock(mutex_);
  RegistryCounts all;
  for (const RegisteredModel& entry : models_) {
    const RegistryCounts counts = CountsOf(entry);
    all.steps += counts.steps;
    all.evaluation_steps += counts.evaluation_steps;
    all.steps_dropped += counts.steps_dropped;
    all.trajectories_dropped += counts.trajectories_dropped;
    all.steps_given_up += counts.steps_given_up;
    all.rewards_not_finite += counts.rewards_not_finite;
  }
  return all;
}

void AgentRegistry::PassOnComplaints(const LogCallback& log) const {
  if (!log) return;
  std::string sentence;
  for (const RegisteredModel& entry : models()) {
    for (const auto& agent : entry.agents) {
      while (agent->shared().PopComplaint(&sentence)) {
        log(LogLevel::kWarning, "agent " + std::to_string(agent->shared().number()) + " of model " +
                                    entry.model->name + ": " + sentence);
      }
    }
  }
}

std::vector<wire::PingTrouble> AgentRegistry::Troubles() const {
  std::vector<wire::PingTrouble> troubles;
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    for (std::size_t k = 0; k < AgentTroubles::kKinds; ++k) {
      const Trouble kind = static_cast<Trouble>(k);
      wire::PingTrouble trouble;
      trouble.model = static_cast<std::uint32_t>(i);
      for (const auto& agent : models_[i].agents) {
        if (!agent->shared().troubles().noted(kind) || trouble.agents++ > 0) continue;
        trouble.agent = agent->shared().number();
        trouble.sentence = agent->shared().troubles().WordsFor(kind, *models_[i].model);
      }
      if (trouble.agents > 0) troubles.push_back(std::move(trouble));
    }
  }
  return troubles;
}

std::size_t AgentRegistry::agents() const {
  std::lock_guard lock(mutex_);
  std::size_t agents = 0;
  for (const RegisteredModel& entry : models_) agents += entry.agents.size();
  return agents;
}

bool AgentRegistry::empty() const {
  std::lock_guard lock(mutex_);
  return models_.empty();
}

}  // namespace murmurate
