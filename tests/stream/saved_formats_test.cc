// Checkpoints of format 1, as the version that wrote it saved them: tests/fixtures/stream_*_1.txt
// have its state after 41 messages of two devices, and what it then said of the next ten.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>

#include "shared/model/parameter_layout.h"
#include "tests/source_file.h"
#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

struct Fixture {
  SavedState state;
  std::vector<double> said;
};

Fixture Read(const std::string& name) {
  Fixture fixture;
  std::ifstream file(SourceFile("tests/fixtures/" + name));
  EXPECT_TRUE(file.is_open()) << name;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, key;
    std::size_t count = 0;
    words >> kind >> key >> count;
    const auto fill = [&](auto& numbers) {
      numbers.resize(count);
      for (auto& number : numbers) {
        std::string word;  // which may be nan
        words >> word;
        using Number = std::remove_reference_t<decltype(number)>;
        if constexpr (std::is_integral_v<Number>)
          number = std::stoull(word);
        else
          number = static_cast<Number>(std::stod(word));
      }
    };
    if (kind == "words") fill(fixture.state.words[key]);
    if (kind == "floats") fill(fixture.state.floats[key]);
    if (kind == "doubles") fill(fixture.state.doubles[key]);
    if (kind == "expected") fill(fixture.said);
    EXPECT_FALSE(words.fail()) << line;
  }
  return fixture;
}

/// The weights that the version had which wrote the fixtures.
Snapshot Weights(const ModelSpec& spec) {
  Snapshot snapshot;
  snapshot.version = 3;
  snapshot.parameters = AlignedFloats(ParameterLayout(spec).total);
  for (std::size_t i = 0; i < snapshot.parameters.size(); ++i)
    snapshot.parameters[i] = 0.3f * std::sin(0.7f * static_cast<float>(i) + 1);
  return snapshot;
}

double Sixteenths(double value) { return std::round(16 * value) / 16; }

ForecastSettings Settings(bool labels) {
  ForecastSettings settings = OneField(3, labels ? std::vector<int>{0} : std::vector<int>{1, 2});
  settings.fields.emplace_back().name = "y";
  settings.quantiles = {0.1, 0.9};
  if (labels) {
    settings.labels = {{"quality", ""}};
    settings.targets = {2};
    settings.label_window = 4;
    settings.per_device_state = false;
  } else {
    settings.every_s = 2;
    settings.resample = ForecastSettings::Resample::kMean;
  }
  return settings;
}

/// One message of each device, and the labels of two messages before.
void Step(Forecaster* forecaster, int i, bool labels) {
  for (const std::string device : {"a", "pump-number-2"}) {
    Sample sample;
    sample.device = device;
    sample.time_ns = (i + 1) * std::int64_t{1'000'000'000} + 1;
    sample.sequence = static_cast<std::uint64_t>(i) + 1;
    sample.values = {Sixteenths(20 + 3 * std::sin(0.5 * i)),
                     Sixteenths(1 + 0.5 * std::cos(0.9 * i))};
    if (labels) sample.id = device + std::to_string(i);
    ASSERT_EQ(forecaster->Consume(sample, sample.time_ns), Refusal::kNone);
    forecaster->Predict();
    if (!labels) continue;
    Sample label;
    label.device = device;
    label.id = device + std::to_string(i - 2);
    label.values = {Sixteenths(50 + 5 * std::sin(0.3 * (i - 2)))};
    ASSERT_EQ(forecaster->ConsumeLabel(label, 1), Refusal::kNone);
  }
}

class SavedFormats : public testing::TestWithParam<bool> {};

TEST_P(SavedFormats, OfTheFirstVersionGoOnAsTheyWouldHave) {
  const bool labels = GetParam();
  const Fixture fixture = Read(labels ? "stream_labels_1.txt" : "stream_state_1.txt");
  const ForecastSettings settings = Settings(labels);
  const ModelSpec spec = SpecOf(settings, {.units = 2, .kind = Layer::Kind::kGru});
  std::vector<double> said;
  Forecaster forecaster(settings, spec, [&](const Forecast& all) {
    for (const Prediction& made : all.predictions) {
      said.insert(said.end(), {made.published, made.model, made.baseline});
      said.insert(said.end(), made.quantiles.begin(), made.quantiles.end());
      said.push_back(made.score.model);
    }
  });
  const Status loaded = forecaster.Load(StateReader(fixture.state, "stream"));
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(forecaster.totals().messages, 82u);
  forecaster.ApplyWeights(Weights(spec));
  for (int i = 41; i < 51; ++i) Step(&forecaster, i, labels);
  ASSERT_EQ(said.size(), fixture.said.size());
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (i % 6 == 3 || i % 6 == 4)
      continue;  // quantiles, which were the model's and now are tracked
    EXPECT_NEAR(said[i], fixture.said[i], 1e-4 * std::abs(fixture.said[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutLabels, SavedFormats, testing::Bool());

}  // namespace
}  // namespace murmurate
