// Assembly: one model's checked trajectories on their way into the batch being assembled.
//
//   TryAdd --room--> place in the batch --full or old--> channel.ready --> learning thread
//      | no batch free                                                           |
//      +--> Keep: a list in order of arrival --AddKept--> next batch <-- channel.empty
//
// Nothing here waits, and nothing that was accepted is lost. The list is bounded by the byte credit
// its senders do not get back, and by kMaxWaiting. Owner and thread: Ingest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/ingest/batch_sizing.h"
#include "server/ingest/examine.h"
#include "server/ingest/ingest.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// A received block that no batch had room for yet. The view points into `message` or `aligned`.
struct WaitingBlock {
  Message message;
  AlignedFloats aligned;
  wire::Decoded decoded;
  TrajectoryView view;
};

class Assembly {
 public:
  static constexpr std::size_t kMaxWaiting = 4096;

  Assembly(std::string name, OfferedModel model, std::int64_t now_ns);

  enum class Outcome : std::uint8_t {
    kAdded,
    kNoRoom,           ///< no batch is free: Keep it
    kBadObservation,   ///< CheckObservations says what is wrong with it
    kTooManyEpisodes,  ///< a block of episodes only, and the batch holds as many as it may
  };
  /// Copies an examined trajectory into its place, or the episodes of a block without steps.
  Outcome TryAdd(const TrajectoryView& view, std::int64_t now_ns);
  void Keep(std::unique_ptr<WaitingBlock> block, std::int64_t now_ns);
  /// Adds what waits, oldest first, while there is room; `added` is called for each.
  void AddKept(std::int64_t now_ns, const std::function<void(WaitingBlock&, Outcome)>& added);

  bool full() const { return batch_ != nullptr && batch_->full(); }
  /// It is max_batch_s old and each of `live_agents` agents has given 2 T steps.
  bool old(int live_agents, std::int64_t now_ns) const;
  /// Enough of `live_agents` have `finished` their part, and the others were waited for.
  bool quorum(int finished, int live_agents, std::int64_t now_ns);
  /// Refuses what is of a version whose batch is closed, where only the current one is taken, and
  /// what too many blocks wait in front of. `of_this_life`: its version counts this learner's
  /// weights; one of an earlier life is never the current one, even with the same number.
  BlockRefusal MayTake(const TrajectoryView& view, bool of_this_life) const;
  /// The shape of batches from now on, also of the one being assembled.
  void SetShape(const BatchShape& shape);
  BatchFit& fit() { return fit_; }

  /// Hands the batch to the learning thread; sorted when a run must be repeatable.
  void HandOver(bool sorted, std::int64_t now_ns);

  using Position = wire::ServerSession::Position;
  /// The positions to be filled before HandOver: what every sender has given up to this batch.
  std::vector<Position>* next_positions() { return &positions_[handed_ % positions_.size()]; }
  /// The positions of the `number`th batch handed over, from 1; empty when that is none of the last
  /// few. A batch is trained before as many others have been handed over. 0: first_positions.
  std::span<const Position> PositionsOf(std::uint64_t number) const;
  std::vector<Position> first_positions;  ///< what a resumed learner begins with

  /// Who waits for whom and why, when anything has waited for over a second; "" otherwise.
  std::string Waiting(int live_agents, std::int64_t now_ns) const;

  ExperienceChannel& channel() { return *model_.channel; }
  const OfferedModel& model() const { return model_; }
  const std::string& name() const { return name_; }
  std::size_t waiting() const { return waiting_.size(); }

  /// The channel's counters, as far as they have been passed on to the session.
  std::uint64_t done_seen = 0, version_seen = 0;

 private:
  bool AcquireBatch(std::int64_t now_ns);
  void Reshape();
  void CountLeftOut(std::uint64_t steps);

  const std::string name_;
  const OfferedModel model_;
  BatchFit fit_;
  BatchShape shape_;
  std::unique_ptr<TrainingBatch> batch_;
  std::deque<std::unique_ptr<WaitingBlock>> waiting_;
  std::map<std::uint32_t, int> steps_given_;  ///< by agent, into this batch
  std::int64_t batch_since_ns_ = 0;           ///< first trajectory of this batch
  std::int64_t quorum_since_ns_ = -1;         ///< when enough had given their part; -1: not yet
  std::uint64_t closed_version_ = 0;          ///< newest published when a batch was handed over
  std::int64_t kept_since_ns_ = 0;            ///< waiting_ is not empty since
  std::int64_t last_added_ns_, last_handed_ns_;
  std::uint64_t handed_ = 0;                      ///< batches
  std::vector<std::vector<Position>> positions_;  ///< two more than batches go round
};

}  // namespace murmurate
