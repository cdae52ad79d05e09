#include <algorithm>
#include <cmath>
#include <cstdio>

#include "client/environments/environment.h"
#include "murmurate/client.h"
#include "server/choose_checkpoint.h"
#include "server/operate/display.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

/// Far from every seed that training derives from run.seed.
constexpr std::uint64_t kEvaluationSeed = 0x6576616c75617465;

struct Scores {
  double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  int count = 0;
  void Add(double score) {
    sum += score;
    squares += score * score;
    low = std::min(low, score);
    high = std::max(high, score);
    ++count;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

double PlayEpisode(Environment* environment, Agent* agent, Action* action) {
  double score = 0;
  StepOutcome outcome;
  while (!outcome.terminated && !outcome.truncated) {
    agent->Act(environment->observation(), action);
    outcome = environment->Step(*action);
    score += outcome.reward;
  }
  agent->End(outcome.terminated ? kTerminated : kTruncated, environment->observation());
  return score;
}

Result<std::unique_ptr<Environment>> EnvironmentOf(const std::string& folder,
                                                   const ModelSpec& spec) {
  auto source = FindConfig(folder + "/config.toml");
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, {});
  if (!config.ok()) return config.status();
  const std::string& name = config->run().environment;
  if (name.empty())
    return InvalidArgument(
        folder +
        "/config.toml: run.environment is not set, and eval plays built-in "
        "environments only; set it, or let your game play in Agent::Mode(kEvaluate)");
  auto environment = MakeEnvironment(name, config->run().environment_options);
  if (!environment.ok()) return environment.status();
  const std::string difference = FirstDifference(spec.spaces, (*environment)->spaces());
  if (!difference.empty())
    return InvalidData(folder + ": the weights do not fit " + name + " (" + difference +
                       "); name the run's own weights");
  return environment;
}

/// As a game would play them: one agent of a client that has these weights and no learner.
Result<Scores> Play(const WeightsFile& weights, Environment* environment, int episodes) {
  auto client = Client::Open(
      {.policy = PolicySource::FromMemory(FormatWeightsFile(weights, /*published_only=*/true))});
  if (!client.ok()) return client.status();
  const Spaces& spaces = environment->spaces();
  Agent agent = (*client)->NewAgent({.observation = spaces.observation, .action = spaces.action});
  if (!agent.valid()) return (*client)->last_error();
  agent.Mode(PlayMode::kSilent);
  Action action;
  Scores scores;
  for (int i = 0; i < episodes; ++i) {
    environment->Reset(DeriveSeed(kEvaluationSeed, static_cast<std::uint64_t>(i)));
    scores.Add(PlayEpisode(environment, &agent, &action));
  }
  if (const std::uint64_t lost = (*client)->Stats().steps_given_up; lost > 0)
    return InvalidData("the weights gave outputs that are not finite at " + WithCommas(lost) +
                       " steps, which were then played at random: there is nothing to score; take "
                       "an earlier checkpoint, or train again with a lower "
                       "optimizer.learning_rate or model.normalize_observation = true");
  return scores;
}

}  // namespace

Result<int> RunEval(const CommonArguments& common, const EvalArguments& arguments) {
  const auto place = FindPlace(common, arguments.place);
  if (!place.ok()) return place.status();
  if (place->run.empty())
    return InvalidArgument(place->folder +
                           ": lies in no run, so nothing says what it plays; name the run, or a "
                           "checkpoint in its folder checkpoints");
  const auto found = ChooseCheckpoint(*place, arguments.best);
  if (!found.ok()) return found.status();
  const WeightsFile* weights = &found->checkpoint.weights;
  auto environment = EnvironmentOf(place->run, weights->spec);
  if (!environment.ok()) return environment.status();
  const auto scores = Play(*weights, environment->get(), arguments.episodes);
  if (!scores.ok()) return scores.status();
  std::printf("%s: %d greedy episodes with the weights of step %s\n", place->run.c_str(),
              scores->count, WithCommas(weights->steps).c_str());
  std::printf("mean %.3f  std %.3f  min %.3f  max %.3f\n", scores->mean(), scores->deviation(),
              scores->low, scores->high);
  return 0;
}

}  // namespace murmurate
