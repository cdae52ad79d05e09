// Labels that come later: what is forecast at a row is what a label says of that very row, joined
// to it by its id, whenever it comes and in whatever order. The forecast that counts is the one
// made as the row came, with what was known then (test, then train, with a delay: M. Grzenda, H. M.
// Gomes, A. Bifet, "Delayed labelling evaluation for data streams", Data Mining and Knowledge
// Discovery 34, 2020). Each row is seen through its own window, by a model without memory of the
// rows before: a state that has gone on is no place to learn an old row from.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/stream/forecast_scores.h"

namespace murmurate {

/// A sample's id, by which its label will be joined: kNone and its hash, kNoId or kDuplicate.
Refusal CheckLabelId(const StreamDevice& device, std::string_view id, std::uint64_t* hash);
/// The row that a label with an id is of, if it may still come: kNone, kUnknownId, kDuplicate or
/// kMissingField.
Refusal FindLabelRow(const StreamDevice& device, const Sample& label, std::uint64_t* row);
/// Scores what was forecast at `row`, and keeps what is to be learned: one value a target.
void ApplyLabel(const ForecastSettings& settings, std::uint64_t row, std::span<const double> values,
                StreamDevice* device, ForecastScores* scores);

}  // namespace murmurate
