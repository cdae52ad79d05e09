// The models that the bundled examples train, on a device.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/environments/environment.h"
#include "server/config/config.h"
#include "server/config/examples.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/schema/model_config.h"
#include "server/stream/config_stream.h"
#include "tests/device/network_run.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

Spaces SpacesOf(const ExampleData data) {
  if (data == ExampleData::kDigits) return {Image({784}), Discrete(10)};
  return {Box({data == ExampleData::kCurve ? 2 : 1}), Box({1})};
}

/// What the example learns from: a game, files that it makes, or arrays of another program (unset).
std::optional<Spaces> SpacesOf(const Config& config) {
  if (!config.run().environment.empty())
    return (*MakeEnvironment(config.run().environment, config.environment_options()))->spaces();
  const DataSettings data = config.data();
  if (data.example) return SpacesOf(*data.example);
  return {};
}

/// A name for each model, by its text.
std::map<std::string, std::string> ModelsOfExamples() {
  std::map<std::string, std::string> models;
  for (const Example& example : Examples()) {
    const Config config = *Config::Load({example.name, example.name, example.text}, {});
    const std::optional<Spaces> spaces = SpacesOf(config);
    if (spaces) models.emplace(ModelFor(config, "", *spaces)->spec.ToText(), example.name);
  }
  return models;
}

void ExpectRunsAsHere(const ModelSpec& spec, int steps, int lanes) {
  const NetworkRows rows(spec, steps, lanes);
  NetworkOnDevice device(spec, rows.rows());
  ExpectSameNumbers(spec, device.Run(rows), rows.OnThisProcessor());
}

TEST(ExampleModels, AllRunAsOnThisProcessor) {
  const auto models = ModelsOfExamples();
  EXPECT_GE(models.size(), 9u);
  for (const auto& [text, name] : models) {
    SCOPED_TRACE(name + "\n" + text);
    ExpectRunsAsHere(*ModelSpec::Parse(text), 3, 2);
  }
}

TEST(ExampleModels, SensorsRunAsOnThisProcessor) {
  const auto source = FindConfig(SourceFile("examples/sensors/sensors.toml"));
  ASSERT_TRUE(source.ok()) << source.status().message();
  const Config config = *Config::Load(*source, {});
  ASSERT_EQ(config.streams().size(), 1u);
  ExpectRunsAsHere(ModelForStream(config, config.streams()[0])->spec, 16, 3);
}

TEST(ExampleModels, EncodersOfPicturesRunAsOnThisProcessor) {
  const Spaces atari = {Image({84, 84, 1}), Discrete(6)}, small = {Image({40, 36, 3}), Discrete(4)};
  ExpectRunsAsHere(*MakeSpec({.trunk = "nature_cnn", .frame_stack = 4}, atari), 1, 3);
  ExpectRunsAsHere(*MakeSpec({.trunk = "impala_cnn", .recurrent = "lstm 32"}, small), 2, 2);
}

}  // namespace
}  // namespace murmurate
