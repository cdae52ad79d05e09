// ReplayPasses: the steps of every pass over samples of a replay, put together on the host as
// server/learn/replayed_steps.h does it, and copied to a device several passes at a time. A pass has
// rows() places; its steps come first, and what is left is padding.
//
// Each pass brings the rows of observations that its networks see (the steps, and where their returns
// end; sent_rows.h), and lists of actions, masks, returns and
// weights (calls/replay.h). So a recorded step is the same whatever shape the batch has that the steps
// are of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/compute/device/calls/replay.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/pinned_block.h"
#include "server/device/sent_rows.h"
#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/lanes.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class ReplayPasses {
 public:
  /// Plans memory for `replay.most_updates` passes of `replay.minibatch` steps. `noise`: numbers that
  /// are drawn on the host for each of the rows that the networks see.
  ReplayPasses(const ModelSpec& spec, const AlgorithmSettings& settings, int noise,
               DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  int most() const { return most_; }    ///< passes that are copied at once
  int steps() const { return steps_; }  ///< of a pass, at most
  int rows() const { return rows_; }    ///< places of a pass: a multiple of 16

  /// The rows that the networks see.
  SentRows& sent() { return sent_; }
  const SentRows& sent() const { return sent_; }
  /// Writes pass `pass`: rows of a batch, at least 1 and at most steps(), and how far targets move
  /// after it. What was enqueued up before has come.
  void Lay(int pass, const TrainingBatch& batch, std::span<const std::int32_t> rows,
           float target_part);
  /// Where the noise of a pass that was laid goes: [2 rows()][noise].
  float* noise(int pass) const { return HostList<float>(pass, noise_at_); }
  /// Enqueues the copy of the first `passes`.
  void EnqueueUp(int passes) const;

  ReplayLists lists() const;
  /// The list of noise, in bytes from a pass's start.
  std::size_t noise_at() const { return noise_at_; }
  BatchObservations observations() const { return sent_.observations(); }

 private:
  template <typename T>
  T* HostList(int pass, std::size_t at) const {
    return reinterpret_cast<T*>(pinned_->data() +
                                static_cast<std::size_t>(pass) * at_.rows.pass_bytes + at);
  }
  std::size_t PlanList(std::size_t bytes);
  void LayRow(int pass, int place, const TrainingBatch& batch, const SeenRow& seen);
  void LayStep(int pass, int place, const TrainingBatch& batch, std::int32_t row);
  void LayMask(int pass, int place, const TrainingBatch& batch, const SeenRow& end) const;
  std::size_t RowOf(int pass, int place) const {
    return static_cast<std::size_t>(pass * 2 * rows_ + place);
  }

  const int most_, steps_, rows_, n_step_;
  const double gamma_;
  const std::size_t words_, mask_bytes_;
  SentRows sent_;
  ReplayLists at_ = {};  ///< offsets alone
  std::size_t noise_at_;
  std::vector<const std::byte*> history_;
  DeviceArray<std::byte> lists_;
  std::unique_ptr<PinnedBlock> pinned_;
  Device* device_ = nullptr;
};

}  // namespace murmurate
