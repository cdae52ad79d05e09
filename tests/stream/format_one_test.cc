// Checkpoints of the first format, in which a device was one block of float32, whose rows were
// learned at all horizons at once and counted from the season: streams go on from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

/// `state` of one device as that format had it.
SavedState FormatOne(SavedState state) {
  std::vector<float> block;
  for (const char* part : {"value",       "mean",          "variance",    "change",    "cell_sum",
                           "cell_count",  "scale",         "scaled",      "score",     "rows",
                           "row_targets", "forecasts",     "by_model",    "row_naive", "label_last",
                           "label_mean",  "label_outside", "labels_seen", "head",      "tail"}) {
    const std::string name = std::string("stream.part.") + part;
    std::ranges::copy(state.floats[name], std::back_inserter(block));
    std::ranges::transform(state.doubles[name], std::back_inserter(block),
                           [](double x) { return static_cast<float>(x); });
  }
  const auto is_new = [](const auto& entry) {
    return entry.first.starts_with("stream.part.") || entry.first == "stream.pools";
  };
  std::erase_if(state.floats, is_new);
  std::erase_if(state.doubles, is_new);
  state.words.erase("stream.format");
  state.words.erase("stream.near");
  state.words["stream.shape"][0] = block.size();
  state.floats["stream.blocks"] = std::move(block);
  return state;
}

TEST(FormatOne, GoesOnWithNearHorizonsStillToBeLearnedAndTheGateShut) {
  ForecastSettings settings = OneField(8, {1, 12});
  settings.season = 10;
  settings.quantiles = {0.1, 0.9};
  const ModelSpec spec = SpecOf(settings, {.units = 8, .kind = Layer::Kind::kGru});
  Forecasting before(settings, spec), after(settings, spec);
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(before.Say("a", {i % 10 + 0.01 * std::sin(i)}, i), Refusal::kNone);
    before.Learn();
  }
  SavedState state;
  before.forecaster.Save(StateWriter(&state, "stream"));
  const SavedState old = FormatOne(state);
  const Status loaded = after.forecaster.Load(StateReader(old, "stream"));
  ASSERT_TRUE(loaded.ok()) << loaded;
  // The block knows of 12 ahead that all is learned, so of 1 ahead the last 8 rows are kept (of
  // 11).
  int learned = 0;
  after.on_batch = [&](const TrainingBatch& batch) {
    for (std::size_t place = 0; place < batch.trajectories.size(); ++place)
      for (int step = 0; step < batch.trajectories[place].steps; ++step)
        learned += batch.weight[place * static_cast<std::size_t>(batch.length) + step] > 0;
  };
  after.Learn();
  EXPECT_EQ(learned, 8);
  EXPECT_EQ(after.learned, 0u) << "rows count when they are learned at the farthest horizon";
  double published = 0, low = 0;
  bool by_model = true;
  after.on_forecast = [&](const Forecast& all) {
    published = all.predictions[0].published;
    by_model = all.predictions[0].by_model;
    low = all.predictions[0].quantiles[0];
  };
  ASSERT_EQ(after.Say("a", {5}, 300), Refusal::kNone);
  after.forecaster.Predict();
  EXPECT_EQ(published, 5) << "the last value";
  EXPECT_FALSE(by_model);
  ASSERT_EQ(after.Say("a", {6}, 301), Refusal::kNone);
  after.forecaster.Predict();
  EXPECT_LT(low, 6) << "an interval after the first error";
}

TEST(FormatOne, OfAnotherShapeIsRefused) {
  const ForecastSettings settings = OneField(8), other = OneField(9);
  const Layer layer{.units = 8, .kind = Layer::Kind::kGru};
  Forecasting before(settings, SpecOf(settings, layer)), after(other, SpecOf(other, layer));
  ASSERT_EQ(before.Say("a", {1}, 0), Refusal::kNone);
  before.forecaster.Predict();
  SavedState state;
  before.forecaster.Save(StateWriter(&state, "stream"));
  const SavedState old = FormatOne(state);
  EXPECT_FALSE(after.forecaster.Load(StateReader(old, "stream")).ok());
}

}  // namespace
}  // namespace murmurate
