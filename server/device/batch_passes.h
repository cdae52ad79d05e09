// BatchPasses: the rows of every pass over a batch, laid out on the host as the kernels of
// server/compute/device/calls/gather.h read them, so that a device goes from pass to pass without
// waiting for the host. They are the rows that server/learn/batch_network.h goes over, in its order.
//
//   to prepare      what followed trajectories and truncations, then the plan's rows
//   updates         one pass each; of a recurrent model, the steps that only bring states up to date
//                   have lists of their own in the same pass
//   to measure      the plan's rows once more, where the length of a step is limited
//
// All passes have the same number of rows, padding among them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "server/compute/device/calls/gather.h"
#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/batch_plan.h"
#include "server/learn/lanes.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// How the rows of a pass follow each other: time-major, steps x lanes. Not recurrent: one step.
struct PassShape {
  int steps = 1, lanes = 0;
  int rows() const { return steps * lanes; }
};

/// How many passes a batch has, in their order.
struct PassCounts {
  int prepare = 0, updates = 0, measure = 0;
  int all() const { return prepare + updates + measure; }
};

class BatchPasses {
 public:
  /// `state_floats`: of an agent.
  BatchPasses(const ModelSpec& spec, const AlgorithmSettings& settings, int state_floats);

  PassShape prepare_shape() const { return prepare_; }
  PassShape update_shape() const { return update_; }
  PassShape burn_in_shape() const { return burn_in_; }  ///< no steps: there are none
  int most_rows() const { return most_rows_; }

  std::size_t pass_bytes() const { return pass_bytes_; }
  std::size_t most_bytes() const;  ///< of all passes of a batch
  /// The lists of passes that lie at `block` on the device.
  PassLists lists(const std::byte* block) const { return ListsAt(block, at_); }
  PassLists burn_in_lists(const std::byte* block) const { return ListsAt(block, burn_in_at_); }

  /// Writes all passes to `block`, which has room for most_bytes().
  void Lay(const TrainingBatch& batch, const BatchPlan& plan, std::byte* block);

  /// Of the batch laid last.
  const PassCounts& counts() const { return counts_; }
  std::size_t bytes() const { return BytesOf(counts_.all()); }

 private:
  struct Offsets {
    std::size_t rows = 0;  ///< that there is room for
    std::size_t row = 0, source = 0, weight = 0, first = 0, state = 0;
  };
  Offsets PlanLists(PassShape shape);
  PassLists ListsAt(const std::byte* block, const Offsets& at) const;
  std::size_t BytesOf(int passes) const { return pass_bytes_ * static_cast<std::size_t>(passes); }
  void LayPrepare(const TrainingBatch& batch, const BatchPlan& plan, std::byte* block);
  void LayUpdate(const TrainingBatch& batch, const BatchPlan& plan, const PlannedUpdate& update,
                 std::byte* pass);
  int LayAll(const TrainingBatch& batch, std::span<const SeenRow> rows, std::byte* block) const;
  void LayRows(const TrainingBatch& batch, std::span<const SeenRow> rows, std::byte* pass) const;
  void LayLanes(const TrainingBatch& batch, const Offsets& at, int lanes, std::byte* pass) const;

  const bool recurrent_, prepares_, measures_;
  const int state_floats_, batch_steps_, slots_, most_finals_, minibatch_, epochs_;
  PassShape prepare_, update_, burn_in_;
  int most_rows_ = 0;
  std::size_t pass_bytes_ = 0;
  Offsets at_, burn_in_at_;
  Lanes lanes_;
  std::vector<SeenRow> seen_;
  PassCounts counts_;
};

}  // namespace murmurate
