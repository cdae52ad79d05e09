// Labels that a message has beside its fields (horizon = 0): what is forecast at a row is what the
// same message says of it. The forecast is made from the fields and from what was known before, and
// published; then the label is scored against it, and the row can be learned from (test, then
// train: A. P. Dawid, "The prequential approach", 1984). Nothing that a forecast depends on has
// seen its label. A message without a label is forecast all the same.
//
// A target that is also one of the fields stands, as a field, for its newest label before the
// message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/stream/forecast_scores.h"

namespace murmurate {

/// OwnLabels takes the values of one message apart.
class OwnLabels {
 public:
  explicit OwnLabels(const ForecastSettings& settings) : settings_(settings) {}

  /// `values`: one for each field, then one for each target that is none.
  void Split(std::span<const double> values, StreamDevice* device);
  /// False: one of the fields that a message itself has to say is missing.
  bool Whole(std::span<const double> values) const;
  std::span<const double> fields() const { return fields_; }  ///< NaN: missing, or none before
  std::span<const double> labels() const { return labels_; }  ///< [targets]; NaN: not said

 private:
  bool IsTarget(int field) const;

  const ForecastSettings& settings_;
  std::vector<double> fields_, labels_;
};

/// Scores what was forecast at a device's newest row by the labels of its message, if there are
/// any, and keeps them.
void ScoreOwnLabels(const ForecastSettings& settings, StreamDevice* device, ForecastScores* scores);
/// Keeps the labels of a message as the newest ones.
void KeepOwnLabels(const ForecastSettings& settings, std::span<const double> labels,
                   StreamDevice* device);
/// How many of the rows from `first` to before `end` can be learned from: with a label, and with
/// one before it.
std::uint32_t CountLabelled(StreamDevice* device, std::uint64_t first, std::uint64_t end);

}  // namespace murmurate
