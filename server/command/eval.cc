#include <algorithm>
#include <cstdio>

#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/command/run_game.h"
#include "server/daemon/scoring.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

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
  const auto found = ChooseCheckpoint(*source, arguments.best);
  if (!found.ok()) return found.status();
  const WeightsFile* weights = &found->checkpoint.weights;
  auto game = MakeRunGame(common, *source, "",
                          "eval plays built-in environments only; set it, or let your game play in "
                          "Agent::Mode(kEvaluate)");
  if (!game.ok()) return game.status();
  MURMURATE_RETURN_IF_ERROR(CheckGameFits(*game, weights->spec, *source));
  const auto played =
      PlayEpisodes(*weights, arguments.sample ? ScoredPlay::kSampled : ScoredPlay::kGreedy,
                   {&game->environment, 1}, arguments.episodes);
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
