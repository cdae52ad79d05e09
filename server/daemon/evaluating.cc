#include "server/daemon/evaluating.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "client/environments/environment.h"
#include "server/operate/operate_settings.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kLeastPriority = 19;
constexpr unsigned kMostThreads = 4;
constexpr int kWaitMs = 10'000;  ///< an offer ends it
constexpr std::int64_t kShortNs = 5 * kNanosecondsPerSecond;
constexpr std::int64_t kLongNs = 60 * kNanosecondsPerSecond;

void StepBack() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLeastPriority);
}

}  // namespace

Evaluating::Evaluating(EvaluatorOptions options, Environments environments)
    : evaluator_(std::move(options), std::move(environments)) {
  if (!evaluator_.periodic()) return;
  loop_ = std::make_unique<Loop>(
      "mmr-evaluate",
      [this, first = true]() mutable {
        if (std::exchange(first, false)) StepBack();
        evaluator_.PollOnce(kWaitMs);
      },
      [this] { evaluator_.Cancel(); });
}

std::unique_ptr<Evaluating> Evaluating::Make(const Config& config, const std::string& model,
                                             const ModelSpec& spec,
                                             std::function<SettingsOfPlay::Values()> live,
                                             OnEvaluation on_evaluation, LogCallback log) {
  const EvaluationSettings& settings = config.evaluation();
  const std::string& name = config.run().environment;
  if (name.empty() || settings.every == 0) return nullptr;
  EnvironmentOptions game = config.environment_options();
  const auto played_under = std::make_shared<SettingsOfPlay>(std::move(live));
  game.setting = [played_under](std::string_view setting, double usual) {
    return played_under->Of(setting, usual);
  };
  auto environment = MakeEnvironment(name, game);
  std::string why = environment.status().message();
  if (environment.ok()) why = FirstDifference(spec.spaces, (*environment)->spaces());
  if (!why.empty()) {
    log(LogLevel::kInfo,
        "model " + model + ": not evaluated here, because run.environment is another game: " + why);
    return nullptr;
  }
  EvaluatorOptions options;
  options.model = model;
  options.spec = spec;
  options.episodes = settings.episodes;
  if (const auto budget = config.run().steps)
    options.every_steps =
        static_cast<std::uint64_t>(std::max(1.0, settings.every * static_cast<double>(*budget)));
  options.settings = played_under;
  options.on_evaluation = std::move(on_evaluation);
  options.log = std::move(log);
  Environments environments;
  environments.push_back(std::move(*environment));
  while (environments.size() < std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads))
    environments.push_back(std::move(*MakeEnvironment(name, game)));
  return std::unique_ptr<Evaluating>(new Evaluating(std::move(options), std::move(environments)));
}

bool Evaluating::Knows(const Config& config, const ModelSpec& spec) {
  const std::string& name = config.run().environment;
  if (name.empty()) return false;
  const auto environment = MakeEnvironment(name, config.environment_options());
  return environment.ok() && FirstDifference(spec.spaces, (*environment)->spaces()).empty();
}

void Evaluating::Offer(std::shared_ptr<const Snapshot> snapshot, StepCount steps) {
  newest_ = snapshot;
  newest_steps_ = steps;
  evaluator_.Offer(std::move(snapshot), steps);
}

void Evaluating::Finish(bool somebody_waits) {
  loop_.reset();
  evaluator_.Finish(newest_, newest_steps_, MonotonicNs() + (somebody_waits ? kShortNs : kLongNs));
}

}  // namespace murmurate
