// ExperienceChannel: the hand-over between the ingest thread and one model's learning threads
// (usually one).
//
//   ingest --ready--> learn --empty--> ingest        two batches more than learners go round: one
//                                                    assembled, one in training by each, one spare
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/experience/staleness.h"
#include "server/experience/step_count.h"
#include "server/experience/training_batch.h"
#include "shared/core/bounded_queue.h"
#include "shared/core/clock.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct ExperienceChannel {
  /// `memory`: where the batches lie; it must outlive the channel.
  ExperienceChannel(const ModelSpec& model_spec, int trajectory_length, int trajectories,
                    int learning_threads = 1, BatchMemory& memory = PlainBatchMemory())
      : spec(model_spec),
        layout(model_spec, trajectory_length),
        batch_trajectories(trajectories),
        learners(learning_threads),
        batches(BatchesFor(learning_threads)),
        batch_memory(memory) {
    for (int i = 0; i < batches; ++i)
      (void)empty.TryPush(std::make_unique<TrainingBatch>(layout, trajectories, memory));
  }

  /// The number of batches that go round.
  static constexpr int BatchesFor(int learning_threads) { return learning_threads + 2; }

  /// Of the batches that it begins with; ingest may change theirs, T never to a larger one.
  BatchShape shape() const { return {layout.length, batch_trajectories}; }

  const ModelSpec spec;
  const TrajectoryLayout layout;
  const int batch_trajectories;
  const int learners, batches;
  BatchMemory& batch_memory;
  BoundedQueue<std::unique_ptr<TrainingBatch>> ready{static_cast<std::size_t>(batches)},
      empty{static_cast<std::size_t>(batches)};

  /// Written by a learning thread, which then wakes ingest: trajectories that the players have back
  /// (StoreCounts::credit, of all loops together), and the newest published version.
  std::atomic<std::uint64_t> credit{0}, version{0};
  /// Written by LearnLoop before credit: StoreCounts::steps, of all loops together. A model
  /// that goes on begins with its checkpoint's number. Where the channel is `fed`: not written.
  std::atomic<std::uint64_t> learned_steps{0};
  /// Written by ingest, for reports: steps taken by actors by their own count, those of them never
  /// sent, and trajectories received. Where the channel is `fed`, environment_steps are the rows
  /// learned from, and the feed writes them.
  std::atomic<std::uint64_t> environment_steps{0}, dropped_steps{0}, received_trajectories{0};
  /// Written by ingest: steps refused because their version's batch is closed, not yet reported.
  std::atomic<std::uint64_t> refused_late_steps{0};

  /// Its batches are filled from files or a stream. Set before anything is learned.
  bool fed = false;
  StepCount steps() const {
    const std::uint64_t taken = environment_steps.load();
    return {fed ? taken : learned_steps.load(), taken};
  }

  /// Who waited how long since `since_ns`: the learning threads (all together) for a batch, ingest
  /// with experience that no batch had room for, actors inside Act (of all the time their agents
  /// played).
  const std::int64_t since_ns = MonotonicNs();
  std::atomic<std::int64_t> learner_waited_ns{0}, ingest_waited_ns{0};
  std::atomic<std::uint64_t> actors_waited_ns{0}, actors_played_ns{0};
  StalenessMail staleness;
};

}  // namespace murmurate
