// Learner: one model and how it learns: which experience counts, plans of batches, versions and
// reports; a BatchTrainer has the parameters. Knows no socket; runs on its caller's thread, and
// with settings.threads > 1 others help. LearnLoop (learn_loop.h) runs it, tests call it directly.
// Several can learn one model, each on a thread of its own (SharedReplica).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/experience/experience_store.h"
#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/learn_report.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "server/parameters/parameter_store.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"
#include "shared/model/weights_match.h"
#include "shared/weights/weights.h"

namespace murmurate {

class BatchTrainer;

class Learner {
 public:
  /// `store`: where the parameters are stepped; null: here, by the optimizer of `settings`.
  Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
          const Initialization& beginning = {}, std::unique_ptr<ParameterStore> store = nullptr);
  /// The same with a trainer of this spec and settings, whose parameters it sets.
  Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
          const Initialization& beginning, std::unique_ptr<BatchTrainer> trainer);
  ~Learner();

  /// Makes, before the first batch, another that learns the same model on a thread of its own, from
  /// the same parameters, version and rates on. The trainer must give a replica (HostTrainer: where
  /// its store does); what is known of rewards (reward_scale.h) is known to both, and saved by
  /// either. `seed`: of its order of minibatches.
  std::unique_ptr<Learner> SharedReplica(std::uint64_t seed) const;

  /// Replaces, before the first batch, drawn parameters by those of a file that match.
  void BeginWith(const WeightsMatch& match);

  /// Saves, between batches (also of its replicas), all that MakeSnapshot does not hold (the
  /// optimizer, the order of minibatches, what is known of rewards), in sections of its own.
  void Save(SavedState* state) const;
  /// Goes on, bit for bit, as the learner of the same spec and settings that made a snapshot of
  /// these `parameters` after `learned_steps`, and saved `state`. On failure (kInvalidData) this
  /// learner is of no use.
  Status Load(std::uint64_t version, std::uint64_t learned_steps, std::span<const float> parameters,
              const SavedState& state);

  /// Trains on one batch (whose rewards it scales the first time, and which it may mask) and makes
  /// the next version. `learned_steps`: where the schedules are. A batch that is held out is only
  /// scored. One of another shape than the last (BatchShape) is learned from as WithShape says.
  /// Where the trainer fails, the report says so and nothing is learned, then or later.
  /// `visit_next`, unless empty: calls what it is given with the batch that is likely to come next, if
  /// there is one (BatchTrainer::Prefetch), while this one is trained on.
  using VisitNext = std::function<void(const std::function<void(const TrainingBatch&)>&)>;
  LearnReport Learn(TrainingBatch& batch, std::uint64_t learned_steps,
                    const VisitNext& visit_next = {});

  /// Makes the store that its algorithm needs between assembled batches and Learn. kResource: the
  /// machine has not so much memory left.
  Result<std::unique_ptr<ExperienceStore>> MakeStore(const TrajectoryLayout& layout,
                                                     BatchMemory& memory) const;
  /// The results that its algorithm found for each row of the last batch (Algorithm::row_answers);
  /// valid until the next Learn.
  std::span<const float> row_answers() const;

  /// Goes back, between batches, to these parameters of its model, and forgets what the optimizer
  /// knows of earlier gradients (Adam's moments and the count of its steps). Versions count on, and
  /// rates, the order of minibatches and what is known of rewards stay. False, and nothing has
  /// changed: other learners step the parameters, too.
  bool GoBack(std::span<const float> parameters);

  /// Sets the rates from the next batch on. Another learning rate stays as it is: adaptive_kl does
  /// not change it.
  void SetRates(const Rates& rates);
  const Rates& rates() const;
  /// Makes a Learn that waits for other learners return soon, now and from now on; any thread.
  void Interrupt();
  /// Where the batch under way is (BatchTrainer::Progress); any thread.
  std::string Progress() const;

  /// The newest parameters with their act settings; version 1 is the initial one.
  std::shared_ptr<const Snapshot> MakeSnapshot() const;
  std::uint64_t version() const;
  const ModelSpec& spec() const;
  const ParameterLayout& layout() const;
  /// Kept out of the parameters: actors do not need them, and they require double precision.
  const Moments& reward_statistics() const;

 private:
  struct State;
  explicit Learner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
