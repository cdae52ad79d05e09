// Turns the values of a row into what the model sees of it: each in usual deviations, which go on
// with every row.
#pragma once

#include <span>

#include "server/stream/row_maker.h"

namespace murmurate {

/// Puts the row after the newest one into the rings of a device; what is usual includes it then.
/// `labels`: [targets] that its message has itself; none where a message has none. `gap_s`: since
/// the message before.
void PutRow(const ForecastSettings& settings, const RowValues& row, std::span<const double> labels,
            float gap_s, StreamDevice* device);

}  // namespace murmurate
