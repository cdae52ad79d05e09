// Readiness: what /readyz answers.
#pragma once

#include <functional>
#include <string>

#include "server/operate/snapshot_board.h"

namespace murmurate {

/// The longest that a batch of the model of this name may take, in seconds (algorithm.max_batch_s).
using LongestBatch = std::function<double(const std::string& model)>;

/// "" when the run is ready: no actor is attached, learning is paused, or of a model that has learned
/// from a batch, the last one or the end of a later pause is no longer ago than its longest batch.
/// Otherwise why not, in one sentence.
std::string WhyNotReady(const RunSnapshot& snapshot, const LongestBatch& longest_batch_s);

}  // namespace murmurate
