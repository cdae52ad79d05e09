// ReplayStore: off-policy learning. What was played is kept, and learned from many times:
//
//   Insert(batch) --Next--> the batch itself, once: "fresh" --Learned--> kept, in the replay
//                   Next--> samples of the replay           --Learned--> their new priorities
//                   Next--> ... as long as the limiter says that some are due; then null
//
// The fresh batch is as it was inserted, in the order of TrainingBatch::Sort. The learner counts
// its observations, episodes and rewards, and makes no update of it. Its result may have the |TD|
// of each row that weighs, in order of the slots: the first priorities; else they get the largest
// so far. It counts then (credit, batches, steps), with its rewards as they were inserted. One that
// was left out was never there. Batches that are held out are given, and not kept.
//
// A batch of samples (Samples::kReplayed, and learned) has window-long slots: each a trajectory of
// up to n steps of one agent, from a sampled step on, with raw rewards, frames0, the observation
// after its last step or the final one, and state0 if it begins a chunk (else zeros). Its last step
// is that which ends the episode, if one does, or the last that is known of its agent: what makes
// returns of it reads only its columns. `weight` is the importance weight in its first row, 0 in
// the others. Its version is that of its trajectory's first step; it has no episodes and no sender.
// Updates have `minibatch` slots each, in order, as many as the limiter allows; the largest weight
// of each is 1. Its result may have one |TD| for each slot. A batch that was left out is due again
// after the next Insert.
//
// A setting `sequence` makes the slots sequences instead (sample_form.h), with weights in all rows
// and the stored state of each of its chunks (window_copy.h); the caller's one |TD| a slot is then
// eta max + (1 - eta) mean over it (R2D2).
//
// Recorded play (Demonstrate) is there before anything is inserted: it counts nowhere, and has the
// first priority of all steps, 1. Where the settings have a demonstration_share, it is kept apart
// and never evicted, and so many samples of each minibatch, its last, are drawn from it
// (demonstrations.h). Else it lies in the replay, as the oldest that is there. A run that goes on
// is given it again.
//
// All steps lie in one piece of memory that is taken when the store is made; beside it are one
// batch of samples, one trajectory for the disk, and some 50 bytes for each agent of which there
// are steps.
//
// For a device that has a copy of its rows (StoreSetup::places), its batches of samples have places
// in place of observations.
//
// A store that is kept on disk (KeepIn) writes each trajectory there with the batch that it came
// in; what Save says is then the replay itself, and a run that is loaded from it goes on with the
// same bits, whatever ended the last one: Next gives what was still due before the first Insert.
// Save waits for no disk; Seal does, so that what it says outlives the end of the machine, too. It
// takes up to `capacity` steps of disk, the steps played between two checkpoints, and two files of
// a quarter of the capacity (16 to 256 MiB).
//
// While its disk is full it goes on in memory, and disk_health says so; it writes what is missing
// when there is room again. Until then Save keeps no steps, as without a disk: a resumed run fills
// its replay anew, collects `learning_starts` steps before it learns, and goes on with its counts.
// What was inserted then counts as learned from, as the updates that it allowed are made; that a
// step which was lost is not drawn any more is the price of a small checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/experience/experience_store.h"
#include "server/replay/kept_steps.h"
#include "server/replay/mapped_block.h"
#include "server/replay/rate_limiter.h"
#include "server/replay/replay_on_disk.h"
#include "server/replay/replay_settings.h"
#include "server/replay/sample_batch.h"

namespace murmurate {

class ReplayStore : public ExperienceStore {
 public:
  /// kInvalidArgument: CheckReplaySettings; kResource: the machine has not so much memory left.
  static Result<std::unique_ptr<ReplayStore>> Make(const ReplaySettings& settings,
                                                   const StoreSetup& setup);
  /// Bytes that a store of these settings takes, which it never exceeds.
  static std::size_t BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout,
                              bool places = false);
  /// kResource: `bytes`, of stores of these settings, are more than the machine has left.
  static Status CheckRoom(const ReplaySettings& settings, std::uint64_t bytes);

  /// The settings have passed CheckReplaySettings. std::bad_alloc when there is no memory.
  ReplayStore(const ReplaySettings& settings, const StoreSetup& setup);

  /// KeepIn, with a log of one's own.
  void KeepOnDisk(std::unique_ptr<ReplayLog> log);

  void Insert(std::unique_ptr<TrainingBatch> batch) override;
  TrainingBatch* Next() override;
  void Learned(const LearnedBatch& result) override;
  std::unique_ptr<TrainingBatch> Release() override;
  Status Demonstrate(const RecordedPlay& play) override;
  StoreCounts counts() const override { return counts_; }
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;
  std::string missing() const override { return disk_ == nullptr ? "" : disk_->missing(); }
  Status KeepIn(const StoreFolder& folder) override;
  const Status& disk_health() const override {
    return disk_ == nullptr ? ExperienceStore::disk_health() : disk_->health();
  }
  void Seal(const StateReader& saved, const StateWriter& section) override;
  void Written(const StateReader& saved) override;

  /// Why Next gives no batch of samples, as one sentence; "": it gives one. The thread of all else.
  std::string Waiting() const override;
  /// Steps that are kept.
  std::uint64_t size() const { return kept_.rows().size(); }

 private:
  enum class Given : std::uint8_t { kNothing, kFresh, kSamples };
  /// The batch that was inserted last.
  struct Fresh {
    std::unique_ptr<TrainingBatch> batch;      ///< null: released
    std::vector<float> raw_rewards;            ///< the learner scales those of the batch
    std::vector<std::uint64_t> inserted_rows;  ///< the first of each slot
    bool is_new = false;                       ///< not learned from yet
  };

  void LearnedFresh(const LearnedBatch& result);
  void LearnedSamples(const LearnedBatch& result);
  void Keep(const TrainingBatch& batch);
  std::uint64_t KeepTrajectory(const TrajectoryView& view);
  void SetFirstErrors(const TrainingBatch& batch, std::span<const float> errors);
  Status FillWith(const RecordedPlay& play);
  Status LoadSteps(const StateReader& reader);

  const ReplaySettings settings_;
  const TrajectoryLayout layout_;
  const std::uint64_t seed_;
  MappedBlock block_;
  KeptSteps kept_;
  SampleBatch samples_;
  RateLimiter limiter_;
  std::unique_ptr<ReplayOnDisk> disk_;  ///< null: there is none
  Fresh fresh_;
  Given given_ = Given::kNothing;
  int given_updates_ = 0;
  bool left_out_ = false;  ///< a batch, since the last Insert
  StoreCounts counts_;
};

}  // namespace murmurate
