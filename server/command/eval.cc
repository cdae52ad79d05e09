#include <algorithm>
#include <cstdio>
#include <map>

#include "client/environments/environment.h"
#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/daemon/scoring.h"
#include "server/learn/setting_keys.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

Result<std::unique_ptr<Environment>> EnvironmentOf(const std::string& folder,
                                                   const std::vector<ConfigOverride>& overrides,
                                                   const ModelSpec& spec) {
  auto source = FindConfig(folder + "/config.toml");
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, overrides);
  if (!config.ok()) return config.status();
  const std::string& name = config->run().environment;
  if (name.empty())
    return InvalidArgument(
        folder +
        "/config.toml: run.environment is not set, and eval plays built-in "
        "environments only; set it, or let your game play in Agent::Mode(kEvaluate)");
  std::map<std::string, double, std::less<>> goals;  // what a curriculum leads to is what counts
  for (const GameSetting& setting : config->game_settings()) goals[setting.name] = GoalOf(setting);
  EnvironmentOptions game = config->environment_options();
  game.setting = [goals](std::string_view setting, double fallback) {
    const auto goal = goals.find(setting);
    return goal == goals.end() ? fallback : goal->second;
  };
  auto environment = MakeEnvironment(name, game);
  if (!environment.ok()) return environment.status();
  const std::string difference = FirstDifference(spec.spaces, (*environment)->spaces());
  if (!difference.empty())
    return InvalidData(folder + ": the weights do not fit " + name + " (" + difference +
                       "); name the run's own weights");
  return environment;
}

struct EvalArguments {
  std::string source;  ///< a run or a checkpoint
  bool best = false;
  bool sample = false;
  int episodes = 100;
};

/// "mean 487.200 +- 6.100 (95 %, 100 episodes)  std 31.000  min 401.000  max 500.000"
void PrintReturns(const EpisodeList& played, const Evaluation& evaluation) {
  const auto [low, high] = std::ranges::minmax(played, {}, &EpisodeRecord::raw_return);
  std::printf("mean %.3f", evaluation.mean_return);
  if (const auto margin = MarginOf(evaluation))
    std::printf(" +- %.3f (95 %%, %zu episodes)", *margin, evaluation.episodes);
  std::printf("  std %.3f  min %.3f  max %.3f\n", evaluation.deviation, low.raw_return,
              high.raw_return);
}

Result<int> RunEval(const CommonArguments& common, const EvalArguments& arguments) {
  const auto source = FindCheckpointSource(common, arguments.source);
  if (!source.ok()) return source.status();
  if (source->run.empty())
    return InvalidArgument(source->folder +
                           ": lies in no run, so nothing says what it plays; name the run, or a "
                           "checkpoint in its folder checkpoints");
  const auto found = ChooseCheckpoint(*source, arguments.best);
  if (!found.ok()) return found.status();
  const WeightsFile* weights = &found->checkpoint.weights;
  auto environment = EnvironmentOf(source->run, common.overrides, weights->spec);
  if (!environment.ok()) return environment.status();
  const auto played =
      PlayEpisodes(*weights, arguments.sample ? ScoredPlay::kSampled : ScoredPlay::kGreedy,
                   {&*environment, 1}, arguments.episodes);
  if (!played.ok()) return played.status();
  const Evaluation evaluation = EvaluationOf(*played);
  std::printf("%s: %zu %s episodes with the weights of step %s\n", source->run.c_str(),
              evaluation.episodes, arguments.sample ? "sampled" : "greedy",
              WithCommas(weights->steps).c_str());
  PrintReturns(*played, evaluation);
  return 0;
}

}  // namespace

void AddEval(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<EvalArguments>();
  auto* eval = app->add_subcommand(
      "eval",
      "Score a run's newest good weights, greedily unless --sample, on seeds it never trained on");
  eval->add_option("RUN", given->source,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  eval->add_flag("--best", given->best, "Those that evaluated best instead");
  eval->add_flag("--sample", given->sample,
                 "Draw each action from the policy, as in training; the same each time");
  eval->add_option("--episodes", given->episodes, "Episodes")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  line->Choose(eval, RunEval, given);
}

}  // namespace murmurate
