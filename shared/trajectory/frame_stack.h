// FrameStack: makes the rows that a model sees out of the rows that are recorded, when it stacks
// frames. Nothing is sent or kept twice: the code that feeds a model combines the last rows.
//
// A stacked row is a row of the ObservationLayout of StackedObservation (network_plan.h): an input
// with a stack of k has k times its channels, and a pixel holds those of the oldest frame first,
// those of the present one last. A vector is one pixel. Frames from before the episode began are
// zeros.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shared/model/model_spec.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

/// Immutable: any number of threads may use one at once. Nothing allocates after construction.
class FrameStack {
 public:
  explicit FrameStack(const ModelSpec& spec);

  /// Rows that Assemble reads: the deepest stack. 1: nothing is stacked, and rows are what the
  /// model sees.
  int depth() const { return depth_; }
  const ObservationLayout& stacked() const { return stacked_; }
  std::size_t row_bytes() const { return stacked_.row_bytes(); }

  /// Writes one stacked row. rows[0] is the present row, rows[i] the one i steps before it in its
  /// episode; null where the episode had not begun. rows.size() == depth().
  void Assemble(std::span<const std::byte* const> rows, std::byte* stacked) const;

 private:
  struct Input {
    int stack = 1;
    std::size_t from = 0, to = 0;  ///< bytes from the start of a row, of a stacked row
    std::size_t pixels = 0;
    std::size_t pixel_bytes = 0;  ///< the channels of one frame
  };

  const ObservationLayout stacked_;
  std::vector<Input> inputs_;
  int depth_ = 1;
};

}  // namespace murmurate
