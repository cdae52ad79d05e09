#include "client/environments/play.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kRoundsBetweenQuestions = 256;

/// The environments of one process, and their agents as one group: one batched pass a round, and
/// under the paces that wait no agent waits while another still holds what it has finished.
struct Table {
  std::vector<std::unique_ptr<Environment>> environments;
  AgentGroup agents;
  std::vector<Observation> observations;
  std::vector<Action> actions;
  std::vector<double> returns;

  void Look(std::size_t i) { observations[i] = environments[i]->observation(); }
};

Result<Table> MakeTable(Client& client, const PlayOptions& options) {
  Table table;
  const std::size_t count = static_cast<std::size_t>(std::max(1, options.agents));
  EnvironmentOptions game = options.options;
  game.setting = [&client](std::string_view name, double fallback) {
    return client.Setting(name, fallback);
  };
  for (std::size_t i = 0; i < count; ++i) {
    auto environment = MakeEnvironment(options.environment, game);
    if (!environment.ok()) return environment.status();
    table.environments.push_back(std::move(*environment));
    table.environments.back()->Reset(DeriveSeed(options.seed, i));
  }
  const Spaces& spaces = table.environments.front()->spaces();
  table.agents = client.NewAgentGroup(
      {.observation = spaces.observation, .action = spaces.action, .model = options.model},
      static_cast<int>(count));
  if (table.agents.size() == 0) return client.last_error();
  table.observations.resize(count);
  table.actions.resize(count);
  table.returns.resize(count);
  for (std::size_t i = 0; i < count; ++i) table.Look(i);
  return table;
}

/// True when an episode ended.
bool PlayStep(Table& table, std::size_t i, PlayResult* result) {
  Environment& environment = *table.environments[i];
  Agent& agent = table.agents[static_cast<int>(i)];
  const StepOutcome outcome = environment.Step(table.actions[i]);
  agent.Reward(outcome.reward);
  table.returns[i] += outcome.reward;
  ++result->steps;
  const bool ended = outcome.terminated || outcome.truncated;
  if (ended) {
    const Success success = !outcome.success ? kNotSaid : *outcome.success ? kSuccess : kFailure;
    if (outcome.terminated) {
      agent.End(kTerminated, success);
    } else {
      agent.End(kTruncated, success, environment.observation());
    }
    ++result->episodes;
    result->return_sum += table.returns[i];
    table.returns[i] = 0.0;
    environment.Reset();
  }
  table.Look(i);
  return ended;
}

}  // namespace

Result<PlayResult> PlayLoop(Client& client, const PlayOptions& options) {
  auto made = MakeTable(client, options);
  if (!made.ok()) return made.status();
  Table table = std::move(*made);
  PlayResult result;
  for (std::uint64_t round = 0;; ++round) {
    table.agents.Act(table.observations, table.actions);
    bool ask = round % kRoundsBetweenQuestions == 0;
    for (std::size_t i = 0; i < table.actions.size(); ++i) ask |= PlayStep(table, i, &result);
    if (options.steps != 0 && result.steps >= options.steps) return result;
    if (ask && (client.should_stop() || (options.stop && options.stop()))) return result;
  }
}

}  // namespace murmurate
