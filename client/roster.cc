#include "client/roster.h"

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

void RosterCounts::Add(const AgentCounts& counts) {
  steps += counts.steps.load(std::memory_order_relaxed);
  evaluation_steps += counts.evaluation_steps.load(std::memory_order_relaxed);
  steps_dropped += counts.steps_dropped.load(std::memory_order_relaxed);
  trajectories_dropped += counts.trajectories_dropped.load(std::memory_order_relaxed);
  steps_given_up += counts.steps_given_up.load(std::memory_order_relaxed);
  rewards_not_finite += counts.rewards_not_finite.load(std::memory_order_relaxed);
  steps_overrun += counts.steps_overrun.load(std::memory_order_relaxed);
}

Result<std::shared_ptr<AgentCore>> Roster::Add(const AgentOptions& options, int rows,
                                               const std::function<Status(ClientModel&)>& prepare) {
  const Spaces spaces{options.observation, options.action};
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spaces));
  if (!wire::IsGoodName(options.model)) {
    return InvalidArgument("model name \"" + options.model +
                           "\": expected 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  MURMURATE_RETURN_IF_ERROR(CheckDefaultAction(spaces.action, options.default_action));
  std::lock_guard lock(mutex_);
  auto found = std::find_if(models_.begin(), models_.end(), [&](const RosterModel& entry) {
    return entry.model->name == options.model;
  });
  if (found == models_.end()) {
    if (models_.size() == kMaxModels) {
      return InvalidArgument("a client plays at most " + std::to_string(kMaxModels) +
                             " models: connect a second client for more");
    }
    auto model = std::make_shared<ClientModel>(options.model, spaces, options_, bell_, settings_);
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

std::vector<RosterModel> Roster::models() const {
  std::lock_guard lock(mutex_);
  return models_;
}

void Roster::CopyModels(std::vector<RosterModel>* models, std::uint64_t* revision) const {
  std::lock_guard lock(mutex_);
  if (*revision == revision_) return;
  *models = models_;
  *revision = revision_;
}

std::shared_ptr<ClientModel> Roster::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const RosterModel& entry : models_) {
    if (entry.model->name == name) return entry.model;
  }
  return nullptr;
}

std::vector<wire::HelloModel> Roster::HelloModels() const {
  std::vector<wire::HelloModel> hello;
  for (const RosterModel& entry : models()) {
    wire::HelloModel& model = hello.emplace_back();
    model.name = entry.model->name;
    model.spaces = entry.model->spaces.ToText();
    for (const auto& agent : entry.agents) model.agents.push_back(agent->number());
    const auto policies = entry.model->policies();
    if (policies == nullptr || policies->empty()) continue;
    const VersionStamp stamp = policies->stamp();
    if (stamp.incarnation == 0) continue;
    model.holds_incarnation = stamp.incarnation;
    model.holds_version = stamp.version;
  }
  return hello;
}

RosterCounts Roster::CountsOf(const RosterModel& entry) {
  RosterCounts counts = entry.closed;
  for (const auto& agent : entry.agents) counts.Add(agent->counts());
  return counts;
}

RosterCounts Roster::Counts(std::size_t model) const {
  std::lock_guard lock(mutex_);
  return CountsOf(models_[model]);
}

RosterCounts Roster::AllCounts() const {
  std::lock_guard lock(mutex_);
  RosterCounts all;
  for (const RosterModel& entry : models_) {
    const RosterCounts counts = CountsOf(entry);
    all.steps += counts.steps;
    all.evaluation_steps += counts.evaluation_steps;
    all.steps_dropped += counts.steps_dropped;
    all.trajectories_dropped += counts.trajectories_dropped;
    all.steps_given_up += counts.steps_given_up;
    all.rewards_not_finite += counts.rewards_not_finite;
  }
  return all;
}

void Roster::PassOnComplaints(const LogCallback& log) const {
  if (!log) return;
  std::string sentence;
  for (const RosterModel& entry : models()) {
    for (const auto& agent : entry.agents) {
      while (agent->TakeComplaint(&sentence)) {
        log(LogLevel::kWarning, "agent " + std::to_string(agent->number()) + " of model " +
                                    entry.model->name + ": " + sentence);
      }
    }
  }
}

std::vector<wire::PingTrouble> Roster::Troubles() const {
  std::vector<wire::PingTrouble> troubles;
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    for (std::size_t k = 0; k < AgentTroubles::kKinds; ++k) {
      const Trouble kind = static_cast<Trouble>(k);
      wire::PingTrouble trouble;
      trouble.model = static_cast<std::uint32_t>(i);
      for (const auto& agent : models_[i].agents) {
        if (!agent->troubles().noted(kind) || trouble.agents++ > 0) continue;
        trouble.agent = agent->number();
        trouble.sentence = agent->troubles().WordsFor(kind, *models_[i].model);
      }
      if (trouble.agents > 0) troubles.push_back(std::move(trouble));
    }
  }
  return troubles;
}

std::size_t Roster::agents() const {
  std::lock_guard lock(mutex_);
  std::size_t agents = 0;
  for (const RosterModel& entry : models_) agents += entry.agents.size();
  return agents;
}

bool Roster::empty() const {
  std::lock_guard lock(mutex_);
  return models_.empty();
}

}  // namespace murmurate
