// Cluster: workers and one shard without a network or a thread, for tests: every rule's two halves
// called in their order, one worker at a time in whatever order the test wants.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "server/parameters/merge_round.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/update_rule.h"

namespace murmurate {

class Cluster {
 public:
  /// out = the gradient of `worker` at x.
  using Gradient = std::function<void(int worker, std::span<const float> x, std::span<float> out)>;

  struct Settings {
    RuleSettings rule;
    int workers = 1;
    float learning_rate = 0.1f;
    OptimizerSettings worker_optimizer = {.name = OptimizerSettings::Name::kSgd};
    OptimizerSettings shard_optimizer = {.name = OptimizerSettings::Name::kSgd};
  };

  /// Everybody begins at `start`, or each worker at a slot of its own.
  Cluster(const Settings& settings, std::vector<float> start);
  Cluster(const Settings& settings, std::vector<float> center,
          const std::vector<std::vector<float>>& locals);

  /// One gradient of one worker, and all that follows; nothing while it waits for its round.
  void Step(int worker, const Gradient& gradient);

  const std::vector<float>& center() const { return center_; }
  const std::vector<float>& local(int worker) const { return workers_[worker].local; }

 private:
  struct Worker {
    std::vector<float> local, pulled, accumulated, gradient, pushed, answer;
    int steps = 0;
    bool waits = false;
    std::uint64_t version = 0;
    std::vector<float> copy;  ///< the shard's, of what this worker pulled
    std::unique_ptr<Optimizer> optimizer;
  };

  void Exchange(Worker& worker);
  void FinishRound();
  void ReceiveAnswer(Worker& worker, std::span<const float> answer);

  const Settings settings_;
  std::vector<float> center_, scratch_;
  std::uint64_t merges_ = 0;
  std::vector<Worker> workers_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace murmurate
