// ParameterStore: where a learner's parameters are stepped: here (local_store.h), by several
// threads at once (hogwild_store.h) or together with other learners (remote_store.h). The one seam
// between one learner and many: the code that learns is the same.
//
// One thread, that of the learner, calls everything but Interrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "server/parameters/moments.h"
#include "shared/core/check.h"
#include "shared/model/state.h"

namespace murmurate {

/// ExchangeReport sums up the exchanges with a parameter server since it was last asked.
struct ExchangeReport {
  std::uint64_t exchanges = 0;
  std::uint64_t late = 0;       ///< pushes that came after their round (sync: backup workers)
  double staleness_mean = 0.0;  ///< versions that the center was ahead, over shards and exchanges
  double staleness_max = 0.0;
  double distance_mean = 0.0;  ///< how far it had moved, where the rule measures that
  double wait_s = 0.0;         ///< inside Step and EndBatch, for answers
  double wasted_share = 0.0;   ///< elastic rules: local steps that the elastic force undid
  double rate_factor = 1.0;    ///< by which the store multiplies the learning rate
};

class ParameterStore {
 public:
  virtual ~ParameterStore() = default;

  /// Called before the first Step of a batch; `parameters`: the whole block. False when there are
  /// no parameters to learn with yet, and this batch must be left out (it was interrupted).
  virtual bool BeginBatch(std::span<float> /*parameters*/) { return true; }

  /// Applies `gradient` at `learning_rate` and leaves in `parameters` those to take the next
  /// gradient at. Both have the trained count of the layout. Returns the gradient's norm before it
  /// was clipped; one whose norm is not finite is left out (the norm says so).
  virtual double Step(double learning_rate, std::span<const float> gradient,
                      std::span<float> parameters) = 0;

  /// The same for some of the networks that the model trains, bit i standing for the i-th: the
  /// others, and what is known of their gradients, stay as they are. Only for a store that can
  /// (network_store.h): others step a model as a whole.
  virtual double StepNetworks(std::uint32_t /*networks*/, double /*learning_rate*/,
                              std::span<const float> /*gradient*/,
                              std::span<float> /*parameters*/) {
    MURMURATE_CHECK(false, "a model is stepped as a whole");
  }

  /// The block whose statistics section is to count what this learner sees: `parameters`, or, where
  /// several count, one of its own.
  virtual std::span<float> ObservationsSeen(std::span<float> parameters) { return parameters; }

  /// Called before the first Step of a batch: what this learner has seen of returns (the moments of
  /// discounted returns of scaled rewards), this batch's too, since it was started.
  virtual void ShareReturns(const Moments& /*own*/) {}
  /// What all who learn the model have seen of them, where others do, if it came since the last
  /// call; called after BeginBatch.
  virtual std::optional<Moments> PopReturns() { return {}; }

  /// Called after the last Step of a batch, and after its observations were counted.
  virtual void EndBatch(std::span<float> /*parameters*/) {}

  /// Called before a batch that is only scored: `parameters` gets what the others have made, too.
  virtual void Refresh(std::span<float> /*parameters*/) {}
  /// Called after it was scored.
  virtual void EndScoring() {}

  /// The version of the `parameters` that BeginBatch or Refresh left (VersionMade: EndBatch), for a
  /// learner whose own last one is `own`. More than that where others make versions, too.
  virtual std::uint64_t VersionBegun(std::uint64_t own) { return own; }
  virtual std::uint64_t VersionMade(std::uint64_t own) { return own + 1; }

  /// Called before the first batch: the store of another learner that steps the same parameters on
  /// a thread of its own; null where there can be none.
  virtual std::unique_ptr<ParameterStore> SharedReplica() { return nullptr; }

  /// This store alone steps the parameters, so they may be changed between two calls.
  virtual bool alone() const { return false; }
  /// Called between batches: the parameters are set to others, so what is known of earlier
  /// gradients is forgotten. False, and nothing has changed: others step them, too.
  virtual bool ForgetGradients() { return false; }

  virtual void Save(const StateWriter& writer) const = 0;
  virtual Status Load(const StateReader& reader) = 0;
  virtual std::uint64_t updates() const = 0;
  virtual ExchangeReport CollectReport() { return {}; }

  /// Any thread: a call that waits inside returns soon, now and from now on.
  virtual void Interrupt() {}
};

}  // namespace murmurate
