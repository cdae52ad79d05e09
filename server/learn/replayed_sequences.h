// ReplayedSequences: the sequences of one update from a replay, side by side, as recurrent networks
// see them. The first burn_in steps of each only bring the state that it was stored with up to date,
// under the network that then sees the rest; that rest is learned from. What followed truncations
// and the last step is seen, too, with the state that its step left; a step that begins an episode
// begins without a state (lanes.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/learn/algorithm_settings.h"
#include "server/learn/lanes.h"
#include "server/learn/minibatch.h"
#include "server/network/sequence_network.h"

namespace murmurate {

class ReplayedSequences {
 public:
  /// For `replay.minibatch` sequences. Nothing is allocated later.
  ReplayedSequences(const ModelSpec& spec, const AlgorithmSettings& settings);

  /// Rows that a network sees at once at most.
  int most_rows() const { return most_rows_; }

  /// The sequences of an update, by their rows: those of consecutive slots, in order. `batch` must
  /// stay until the next.
  void Take(const TrainingBatch& batch, std::span<const std::int32_t> rows);
  std::span<const int> slots() const { return slots_; }
  /// The rows of the batch in a slot that are learned from: [first, end).
  struct Learned {
    std::int32_t first = 0, end = 0;
  };
  Learned LearnedOf(int slot) const;
  std::size_t learned_rows() const;

  /// Writes a network's outputs of all rows but the first burn_in of each sequence. What Backward
  /// of the network needs stays until the next See.
  void See(SequenceNetwork& network, std::span<const float> parameters, float* outputs);
  /// Of the last See: rows, and where among them one of the batch is, or what followed it.
  std::size_t rows() const { return seen_.size(); }
  std::size_t PlaceOf(const SeenRow& row) const;

  /// Lengths of vectors, summed over the sequences of the last See: of the difference between the
  /// state after burn_in steps and the one that was stored with the step behind them, and of that
  /// one. Sequences whose stored state is not there (zeros), or which begin an episode there, are left out.
  struct Drift {
    double difference = 0, stored = 0;
  };
  Drift StateDrift() const;

 private:
  void Run(SequenceNetwork& network, std::span<const float> parameters, const Sequences& sequences,
           float* outputs);

  const int burn_in_, trajectory_length_;
  const std::size_t states_;
  const TrajectoryLayout layout_;  ///< of batches of samples
  const int most_rows_;
  Lanes lanes_;
  Minibatch minibatch_;
  std::vector<int> slots_;
  std::vector<SeenRow> seen_;
  std::vector<std::int32_t> places_;  ///< in seen_, by row from the first slot's first on
  const TrainingBatch* batch_ = nullptr;
};

}  // namespace murmurate
