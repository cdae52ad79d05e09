// KeptSteps: the steps of a replay with all that belongs to them: the rows, which of them can be
// sampled, and how they are drawn. They lie in one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/replay/closed_windows.h"
#include "server/replay/mapped_block.h"
#include "server/replay/replay_rows.h"
#include "server/replay/replay_settings.h"
#include "server/replay/sampler.h"
#include "server/replay/window_copy.h"

namespace murmurate {

class KeptSteps {
 public:
  /// `block`: BytesFor the same, zeros. `places`: rows are named by them (KeptRows). The settings
  /// have passed CheckReplaySettings.
  KeptSteps(const ReplaySettings& settings, const TrajectoryLayout& layout, std::uint64_t seed,
            BlockCursor block, bool places = false);
  KeptSteps(const KeptSteps&) = delete;
  KeptSteps& operator=(const KeptSteps&) = delete;

  static std::size_t BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout);

  /// Keeps a trajectory of 1 to T steps, whose first priorities are the largest so far; the oldest
  /// ones go as far as it needs their room. Its first row.
  std::uint64_t Keep(const TrajectoryView& view);
  /// The number of the first row, before one is kept.
  void BeginAt(std::uint64_t row) { rows_.BeginAt(row); }

  const ReplayRows& rows() const { return rows_; }
  ObservationPlaces& places() { return rows_.places(); }
  const ClosedWindows& windows() const { return windows_; }
  WindowCopy& chunk_copy() { return chunk_copy_; }  ///< of whole chunks, for a disk
  Sampler& sampler() { return sampler_; }
  const Sampler& sampler() const { return sampler_; }

 private:
  void MakeRoomFor(const TrajectoryView& view);

  ReplayRows rows_;
  ClosedWindows windows_;
  Sampler sampler_;
  WindowCopy chunk_copy_;
};

}  // namespace murmurate
