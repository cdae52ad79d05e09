#include "server/daemon/evaluator.h"

#include <algorithm>
#include <span>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

WeightsFile FileOf(const ModelSpec& spec, const Snapshot& snapshot, std::uint64_t steps) {
  WeightsFile file{spec, snapshot.version, steps, AlignedFloats(snapshot.parameters.size())};
  std::ranges::copy(snapshot.parameters, file.parameters.begin());
  return file;
}

}  // namespace

double SettingsOfPlay::Of(std::string_view name, double fallback) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? fallback : found->second;
}

Evaluator::Evaluator(EvaluatorOptions options, Environments environments)
    : options_(std::move(options)),
      environments_(std::move(environments)),
      next_steps_(options_.every_steps) {}

Evaluator::~Evaluator() { delete waiting_.exchange(nullptr); }

void Evaluator::Offer(std::shared_ptr<const Snapshot> snapshot, StepCount steps) {
  if (options_.every_steps == 0 || steps.learned < next_steps_) return;
  next_steps_ = (steps.learned / options_.every_steps + 1) * options_.every_steps;
  const std::unique_ptr<Job> before(
      waiting_.exchange(new Job{std::move(snapshot), steps}, std::memory_order_acq_rel));
  if (before != nullptr) skipped_.fetch_add(1, std::memory_order_relaxed);
  offers_.fetch_add(1, std::memory_order_release);
  WakeAll(&offers_);
}

void Evaluator::PollOnce(int timeout_ms) {
  const std::uint32_t seen = offers_.load(std::memory_order_acquire);
  const std::unique_ptr<Job> job(waiting_.exchange(nullptr, std::memory_order_acq_rel));
  if (job != nullptr && !cancelled_) {
    (void)Play(*job, 1, [this] { return cancelled_.load(std::memory_order_relaxed); });
    SayWhatWasSkipped();
  } else if (!cancelled_) {
    const FutexWait wait{&offers_, seen};
    WaitForAny({&wait, 1}, timeout_ms);
  }
}

void Evaluator::Cancel() {
  cancelled_ = true;
  offers_.fetch_add(1, std::memory_order_release);
  WakeAll(&offers_);
}

void Evaluator::Finish(std::shared_ptr<const Snapshot> snapshot, StepCount steps,
                       std::int64_t deadline_ns) {
  SayWhatWasSkipped();
  if (snapshot == nullptr || snapshot->version == evaluated_version_) return;
  if (Play({std::move(snapshot), steps}, environments_.size(),
           [=] { return MonotonicNs() >= deadline_ns; }))
    return;
  options_.log(LogLevel::kWarning,
               "model " + options_.model +
                   ": the last evaluation took too long and was given up; play it with `murmurate "
                   "eval`, or set evaluation.episodes lower");
}

/// False when it was stopped.
bool Evaluator::Play(const Job& job, std::size_t threads, const std::function<bool()>& stop) {
  options_.settings->Begin();
  const WeightsFile weights = FileOf(options_.spec, *job.snapshot, job.steps.learned);
  const auto played =
      PlayEpisodes(weights, ScoredPlay::kGreedy, std::span(environments_).first(threads),
                   options_.episodes, stop);
  if (!played.ok()) {
    if (played.status().code() == StatusCode::kUnavailable) return false;
    options_.log(LogLevel::kError,
                 "model " + options_.model + ": cannot be evaluated: " + played.status().message());
    return true;
  }
  Evaluation evaluation = EvaluationOf(*played);
  evaluation.steps = job.steps.taken;
  evaluation.learned_steps = job.steps.learned;
  evaluation.version = evaluated_version_ = job.snapshot->version;
  options_.on_evaluation(evaluation, options_.settings->values(), job.snapshot);
  return true;
}

void Evaluator::SayWhatWasSkipped() {
  const int skipped = skipped_.exchange(0, std::memory_order_relaxed);
  if (skipped == 0) return;
  options_.log(LogLevel::kInfo, "model " + options_.model + ": " + std::to_string(skipped) +
                                    (skipped == 1 ? " evaluation was" : " evaluations were") +
                                    " skipped, because the one before still played");
}

}  // namespace murmurate
