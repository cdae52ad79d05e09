#include <cmath>
#include <cstdio>

#include "client/environments/environment.h"
#include "server/commands.h"
#include "server/operate/checkpoint.h"
#include "server/operate/display.h"
#include "shared/core/random.h"
#include "shared/network/policy.h"

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

double PlayEpisode(Environment* environment, const Policy& policy, Random* random) {
  std::vector<float> logits(static_cast<std::size_t>(policy.outputs()));
  AlignedFloats scratch(policy.ScratchFloats(1));
  const ActSettings greedy{.mode = ActSettings::Mode::kGreedy};
  double score = 0;
  for (StepOutcome outcome; !outcome.terminated && !outcome.truncated; score += outcome.reward) {
    policy.Logits(environment->observation().parts()[0].data(), 1, logits.data(), scratch.data());
    outcome = environment->Step(ChooseAction(logits, greedy, *random).action);
  }
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
        "environments only; set it, or let your game play with AgentOptions' Mode(kEvaluate)");
  auto environment = MakeEnvironment(name);
  if (!environment.ok()) return environment.status();
  const std::string difference = FirstDifference(spec.spaces, (*environment)->spaces());
  if (!difference.empty())
    return InvalidData(folder + ": the weights do not fit " + name + " (" + difference +
                       "); name the run's own weights");
  return environment;
}

}  // namespace

Result<int> RunEval(const CommonArguments& common, const EvalArguments& arguments) {
  auto folder = FindRun(common, arguments.run);
  if (!folder.ok()) return folder.status();
  auto weights = ReadLatestCheckpoint(*folder);
  if (!weights.ok()) return weights.status();
  auto environment = EnvironmentOf(*folder, weights->spec);
  if (!environment.ok()) return environment.status();
  const ParameterLayout layout(weights->spec);
  const std::span<const float> block = weights->parameters;
  Policy policy(weights->spec);
  policy.Pack(block.subspan(layout.policy.offset, layout.policy.count),
              block.subspan(layout.statistics.offset, layout.statistics.count));
  Random random(kEvaluationSeed);
  Scores scores;
  for (int i = 0; i < arguments.episodes; ++i) {
    (*environment)->Reset(DeriveSeed(kEvaluationSeed, static_cast<std::uint64_t>(i)));
    scores.Add(PlayEpisode(environment->get(), policy, &random));
  }
  std::printf("%s: %d greedy episodes with the weights of step %s\n", folder->c_str(), scores.count,
              WithCommas(weights->steps).c_str());
  std::printf("mean %.2f  std %.2f  min %.2f  max %.2f\n", scores.mean(), scores.deviation(),
              scores.low, scores.high);
  return 0;
}

}  // namespace murmurate
