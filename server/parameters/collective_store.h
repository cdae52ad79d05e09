// CollectiveStore: synchronous data-parallel training over the ranks of a job (collective.h): every
// rank has the model and its optimizer, and steps them by the mean of all gradients, so all have
// the same bits and none of them owns the model.
//
//   BeginBatch  vote (collective_job.h); the first time rank 0's model, parameters and optimizer,
//               go to all
//   Step        one sum of gradients, of how many there are and of the rate; their mean, clipped,
//               steps the local optimizer. The rate is rank 0's, so one schedule counts.
//   EndBatch    joins the steps of those that still have some, with nothing to add, until none
//               has (as PyTorch's DDP Join); then what each has seen of observations and of
//               returns, merged (Chan). What a stopped job knew of both is counted by rank 0 alone.
//               The sum that finds none is the price of a batch: a second, short one
//               before each step would cost more, for it is the waiting for each other that takes
//               time.
//
// With the same gradients, n ranks of a batch B each step as one learner does that sums n gradients
// of B in the order of the ranks and divides by n, up to the order of the engine's sum.
//
// Where every rank has a processor that sums and steps by itself (rank_processor.h; a device), this
// store has the borders alone: BeginBatch, and in place of Step and of joining others one AgreeOnBatch,
// so that all have the same number of sums. A batch that a rank leaves out is left out by all.
//
// A mean that is not finite is left out on all ranks alike. The job learns one model. An engine
// that fails (a rank died, and the launcher has not ended the job yet) goes to `failed` once; no
// batch begins any more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "murmurate/log.h"
#include "server/parameters/collective_job.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/parameter_store.h"
#include "server/parameters/rank_processor.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct CollectiveSettings {
  OptimizerSettings optimizer;
  double max_grad_norm = 0.0;     ///< of the mean; 0: never clip
  bool normalize_reward = false;  ///< all ranks divide by one deviation of returns
  /// The time for which a batch that was voted for is waited for after Interrupt; tests have none.
  std::int64_t patience_ns = kPatienceNs;
};

struct CollectiveCallbacks {
  std::function<void()> over;          ///< another rank wanted to stop, so this one must
  std::function<void(Status)> failed;  ///< both at most once, on the learner's thread
  LogCallback log = {};                ///< of who sums gradients, and of ranks that are missing
};

/// What all ranks do in a batch.
struct AgreedBatch {
  std::uint64_t updates = 0;  ///< of the rank that has the most
  double learning_rate = 0.0;
};

class CollectiveStore : public ParameterStore {
 public:
  /// `job` must outlive the store.
  CollectiveStore(CollectiveJob* job, const CollectiveSettings& settings, const ModelSpec& spec,
                  CollectiveCallbacks callbacks);
  /// Waits for no rank. What the others may still want of this rank, up to the next border, is done
  /// in CollectiveJob::Leave, when this process holds nothing any more.
  ~CollectiveStore() override;

  CollectiveStore* collective() override { return this; }

  /// Before the first batch: what steps in place of this store if each rank has such a processor. It
  /// must outlive the store. `why_not`, unless empty: there is none, as this sentence says.
  void OfferProcessor(RankProcessor* processor, std::string why_not);
  /// After the first BeginBatch: whether that is so. The processor begins with the parameters that
  /// BeginBatch left and with the optimizer that Save gives.
  bool steps_elsewhere() const;
  /// Then, in place of Step, after BeginBatch; `updates`: of this rank, each with a sum. Nothing: the
  /// batch is left out, on all ranks.
  std::optional<AgreedBatch> AgreeOnBatch(std::uint64_t updates, double learning_rate);
  /// Of waits for all ranks; the processor's have Begin and End around them.
  RankWatch& watch();
  std::uint64_t batches() const;  ///< CollectiveJob's

  bool BeginBatch(std::span<float> parameters) override;
  double Step(double learning_rate, std::span<const float> gradient,
              std::span<float> parameters) override;
  std::span<float> ObservationsSeen(std::span<float> parameters) override;
  void ShareReturns(const Moments& own) override;
  std::optional<Moments> PopReturns() override;
  void EndBatch(std::span<float> parameters) override;
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;
  std::uint64_t updates() const override;
  ExchangeReport CollectReport() override;
  void Interrupt() override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Every rank's `state`, alike in names and lengths, becomes rank 0's, bit for bit.
Status BroadcastState(Collective& collective, SavedState* state);

}  // namespace murmurate
