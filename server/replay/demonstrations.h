// Demonstrations: recorded play that a replay keeps beside what is played, and from which a part of
// each minibatch is drawn (RLPD, Ball et al. 2023, arXiv 2302.02948). It has a block of its own with
// room for all of it, so nothing of it is ever evicted.
//
// A sample's importance weight says how often it is drawn against the others of its part, (N P)^-beta
// with N and P of the part: what the parts are to each other is what the share says, and no weight
// undoes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/experience/recorded_play.h"
#include "server/experience/training_batch.h"
#include "server/replay/kept_steps.h"
#include "server/replay/mapped_block.h"
#include "server/replay/replay_settings.h"
#include "server/replay/window_copy.h"

namespace murmurate {

class Demonstrations {
 public:
  /// Reads all of `play`. kInvalidArgument: it has no whole sample; kResource: the machine has not
  /// so much memory left; or what Visit says.
  static Result<std::unique_ptr<Demonstrations>> Make(ReplaySettings settings,
                                                      const TrajectoryLayout& layout,
                                                      std::uint64_t seed, const RecordedPlay& play);

  std::size_t samples() const { return samples_; }  ///< of each minibatch
  std::uint64_t size() const { return kept_.rows().size(); }

  /// As Sampler, WindowCopy and Sampler have them.
  double Draw(std::span<std::uint64_t> rows, std::span<float> weights) {
    return kept_.sampler().Draw(rows, weights);
  }
  void Add(std::uint64_t row, float weight, TrainingBatch* batch) { copy_.Add(row, weight, batch); }
  void SetError(std::uint64_t row, float error) { kept_.sampler().SetError(row, error); }

 private:
  Demonstrations(const ReplaySettings& settings, const TrajectoryLayout& layout,
                 std::uint64_t seed);

  const std::size_t samples_;
  MappedBlock block_;
  KeptSteps kept_;
  WindowCopy copy_;
};

}  // namespace murmurate
