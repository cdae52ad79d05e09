#include "client/environments/play.h"

#include <memory>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kRoundsBetweenQuestions = 256;

struct Player {
  std::unique_ptr<Environment> environment;
  Agent agent;
  double episode_return = 0.0;
};

Result<Player> MakePlayer(Client& client, const PlayOptions& options, int index) {
  auto environment = MakeEnvironment(options.environment, options.sizes);
  if (!environment.ok()) return environment.status();
  Player player{std::move(*environment), {}, 0.0};
  player.environment->Reset(DeriveSeed(options.seed, static_cast<std::uint64_t>(index)));
  const Spaces& spaces = player.environment->spaces();
  player.agent = client.NewAgent(
      {.observation = spaces.observation, .action = spaces.action, .model = options.model});
  if (!player.agent.valid()) return client.last_error();
  return player;
}

/// True when an episode ended.
bool PlayStep(Player& player, PlayResult* result) {
  Environment& environment = *player.environment;
  const StepOutcome outcome = environment.Step(player.agent.Act(environment.observation()));
  player.agent.Reward(outcome.reward);
  player.episode_return += outcome.reward;
  ++result->steps;
  if (!outcome.terminated && !outcome.truncated) return false;
  if (outcome.terminated) {
    player.agent.End(kTerminated);
  } else {
    player.agent.End(kTruncated, environment.observation());
  }
  ++result->episodes;
  result->return_sum += player.episode_return;
  player.episode_return = 0.0;
  environment.Reset();
  return true;
}

}  // namespace

Result<PlayResult> PlayLoop(Client& client, const PlayOptions& options) {
  std::vector<Player> players;
  for (int i = 0; i < options.agents; ++i) {
    auto player = MakePlayer(client, options, i);
    if (!player.ok()) return player.status();
    players.push_back(std::move(*player));
  }
  PlayResult result;
  for (std::uint64_t round = 0;; ++round) {
    bool ask = round % kRoundsBetweenQuestions == 0;
    for (Player& player : players) {
      if (options.steps != 0 && result.steps >= options.steps) return result;
      ask |= PlayStep(player, &result);
    }
    if (ask && (client.should_stop() || (options.stop && options.stop()))) return result;
  }
}

}  // namespace murmurate
