// Writes what is to be learned of one device into a batch: rows with the values that came for them.
#pragma once

#include <cstdint>

#include "server/experience/training_batch.h"
#include "server/stream/device.h"

namespace murmurate {

/// Appends, for a recurrent model, the window that ends before row `end` as one sequence, of which
/// rows from `from` on may be learned. `group`: one of the device's shape. `version`: of the
/// weights.
void PutSequence(const ForecastSettings& settings, const HorizonGroup& group, std::uint64_t end,
                 std::uint64_t from, std::uint64_t version, StreamDevice* device,
                 TrainingBatch* batch);
/// Appends, for a plain model, `row` with its window.
void PutPair(const ForecastSettings& settings, const HorizonGroup& group, std::uint64_t row,
             std::uint64_t version, StreamDevice* device, TrainingBatch* batch);

}  // namespace murmurate
