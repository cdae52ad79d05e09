// BatchTrainer: where a batch is trained on: "take this batch and this plan, do all its updates,
// give the sums and the parameters". What crosses is a whole batch, not a layer or a minibatch, so
// that a device can work through it without waiting for the host.
//
//   Learner            versions, ages, rewards, plans, reports, snapshots
//   BatchTrainer       parameters, gradients, optimizer state, observation statistics
//     HostTrainer      on this processor (host_trainer.h)
//
// One thread, that of the learner, calls everything but Interrupt and Progress.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm.h"
#include "server/learn/batch_plan.h"
#include "server/parameters/parameter_store.h"
#include "shared/model/state.h"

namespace murmurate {

/// BatchSums are the results of one batch.
struct BatchSums {
  AlgorithmSums algorithm = {};
  std::size_t begun = 0;      ///< updates of the plan that were begun
  std::uint64_t updates = 0;  ///< that stepped parameters
  std::uint64_t skipped = 0;  ///< left out: the gradient was not finite
  double norms = 0;           ///< of the gradients that stepped, before they were clipped, summed
  std::uint64_t version = 0;  ///< of the parameters it left
  ExchangeReport exchange = {};
  bool left_out = false;  ///< nothing was learned: another rank stops
  /// The results found for each of the plan's rows (Algorithm::row_answers); valid until the next
  /// Begin.
  std::span<const float> row_answers = {};
};

class BatchTrainer {
 public:
  virtual ~BatchTrainer() = default;

  /// Makes its parameters, before a batch, those that others who learn the model have left, too,
  /// which may take long. Gives their version, for a learner whose own last one is `version`;
  /// nothing: it was interrupted, and the batch is to be left out. `scores`: the batch changes
  /// nothing, as plan.scores says.
  virtual std::optional<std::uint64_t> Open(std::uint64_t version, bool scores) = 0;

  /// Of a store of many learners, after Open and before Begin (ParameterStore::PopReturns,
  /// ShareReturns).
  virtual std::optional<Moments> PopReturns() { return {}; }
  virtual void ShareReturns(const Moments& /*own*/) {}

  /// The batch that is likely to be trained on next, any time before its Begin: an upload of its
  /// columns may begin. Only its rewards and weights still change.
  virtual void Prefetch(const TrainingBatch& /*next*/) {}

  /// Makes room, between batches, for batches of another shape: of `settings`, which differ from
  /// those it was made with in nothing but the shape and what is bounded by it. Its results do not
  /// depend on the shapes before.
  virtual void Fit(const AlgorithmSettings& settings) = 0;

  /// Returns at once. Batch and plan must stay unchanged until Finish has returned.
  virtual void Begin(const TrainingBatch& batch, const BatchPlan& plan) = 0;
  /// Returns when all updates of the plan are done, or the batch was left (plan.most_kl).
  virtual BatchSums Finish() = 0;

  /// Not ok: the processor that it trains on has failed, as one sentence says (kResource). From then
  /// on nothing is trained: Finish returns at once and its sums mean nothing, parameters() are those
  /// that the last finished batch left, and Save gives what the host has of that batch; of what only
  /// the device had, the state at the beginning, so that a run can go on from it.
  virtual Status Health() const { return {}; }
  /// Where the batch under way is ("update 13 of 80"), of a trainer whose batches are watched for
  /// taking too long (batch_watch.h); "": they are not. Any thread.
  virtual std::string Progress() const { return ""; }

  /// It keeps a copy of the rows of a store (KeptRows), whose batches of samples have places in
  /// place of observations.
  virtual bool copies_kept_rows() const { return false; }

  /// The whole block on the host: valid until the next call that is not const.
  virtual std::span<const float> parameters() const = 0;
  virtual void SetParameters(std::span<const float> parameters) = 0;

  /// Goes on, between batches, from these parameters with an optimizer as at the beginning; what
  /// the algorithm carries from batch to batch stays. False, and nothing has changed: others step
  /// the parameters, too.
  virtual bool GoBack(std::span<const float> /*parameters*/) { return false; }

  /// Saves optimizer and algorithm between batches, in sections of their own; not the parameters.
  virtual void Save(SavedState* state) const = 0;
  virtual Status Load(const SavedState& state) = 0;

  /// Makes, before the first batch, another that steps the same parameters for a learner on a
  /// thread of its own; null where there can be none.
  virtual std::unique_ptr<BatchTrainer> SharedReplica() { return nullptr; }

  /// Makes an Open or Finish that waits for others return soon, now and from now on; any thread.
  virtual void Interrupt() {}
};

}  // namespace murmurate
