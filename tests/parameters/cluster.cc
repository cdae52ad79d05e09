#include "tests/parameters/cluster.h"

#include <algorithm>
#include <utility>

namespace murmurate {

Cluster::Cluster(const Settings& settings, std::vector<float> start)
    : Cluster(settings, start, std::vector(static_cast<std::size_t>(settings.workers), start)) {}

Cluster::Cluster(const Settings& settings, std::vector<float> center,
                 const std::vector<std::vector<float>>& locals)
    : settings_(settings),
      center_(std::move(center)),
      scratch_(center_.size()),
      optimizer_(MakeOptimizer(settings.shard_optimizer, center_.size())) {
  for (const std::vector<float>& local : locals) {
    Worker worker;
    worker.local = local;
    worker.pulled = worker.copy = center_;
    for (auto* block : {&worker.accumulated, &worker.gradient, &worker.pushed, &worker.answer})
      block->resize(center_.size());
    worker.optimizer = MakeOptimizer(settings.worker_optimizer, center_.size());
    workers_.push_back(std::move(worker));
  }
}

void Cluster::Step(int index, const Gradient& gradient) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  if (worker.waits) return;
  gradient(index, worker.local, worker.gradient);
  AddToWindow(worker.gradient, 1.0f, worker.steps++, worker.accumulated);
  const bool steps_locally = StepsLocally(settings_.rule);
  if (steps_locally)
    worker.optimizer->Step(settings_.learning_rate, 1.0f, worker.gradient, worker.local);
  if (worker.steps == settings_.rule.window) Exchange(worker);
  if (steps_locally && !worker.waits) worker.optimizer->LookAhead(worker.local);
  FinishRound();
}

void Cluster::Exchange(Worker& worker) {
  const RuleSettings& rule = settings_.rule;
  Contribution(rule, {worker.local, worker.pulled, worker.accumulated, worker.steps},
               worker.pushed);
  worker.waits = IsSynchronous(rule.name);
  if (worker.waits) return;
  Merge(rule, {worker.pushed, merges_ - worker.version, worker.copy, settings_.learning_rate},
        center_, optimizer_.get(), worker.answer);
  ++merges_;
  ReceiveAnswer(worker, AnswerIsElastic(rule.name) ? worker.answer : center_);
}

void Cluster::ReceiveAnswer(Worker& worker, std::span<const float> answer) {
  Adopt(settings_.rule, answer, worker.pushed, worker.local);
  worker.pulled = worker.copy = center_;
  worker.version = merges_;
  worker.steps = 0;
}

void Cluster::FinishRound() {
  std::vector<RoundPart> parts;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].waits)
      parts.push_back({.worker = i, .round = merges_, .contribution = workers_[i].pushed});
  }
  if (parts.size() < workers_.size()) return;
  MergeRound(settings_.rule, parts, {.learning_rate = settings_.learning_rate}, scratch_, center_,
             optimizer_.get());
  ++merges_;
  for (Worker& worker : workers_) {
    ReceiveAnswer(worker, center_);
    worker.waits = false;
    if (StepsLocally(settings_.rule)) worker.optimizer->LookAhead(worker.local);
  }
}

}  // namespace murmurate
