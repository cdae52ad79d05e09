#include "tests/device/example_models.h"

#include <optional>
#include <set>

#include "client/environments/environment.h"
#include "server/config/config.h"
#include "server/config/examples.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/learn/algorithm.h"
#include "server/schema/model_config.h"
#include "server/stream/config_stream.h"
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

}  // namespace

std::vector<ExampleModel> ModelsOfExamples() {
  std::vector<ExampleModel> models;
  std::set<std::string> texts;
  for (const Example& example : Examples()) {
    const Config config = *Config::Load({example.name, example.name, example.text}, {});
    const std::optional<Spaces> spaces = SpacesOf(config);
    if (!spaces) continue;
    const ModelSettings settings = *ModelFor(config, "", *spaces);
    if (settings.algorithm.kind->loss == nullptr || settings.algorithm.kind->replays) continue;
    const ModelSpec& spec = settings.spec;
    if (texts.insert(spec.ToText()).second) models.push_back({example.name, spec});
  }
  return models;
}

ModelSpec ModelOfSensors() {
  const Config config = *Config::Load(*FindConfig(SourceFile("examples/sensors/sensors.toml")), {});
  return ModelForStream(config, config.streams()[0])->spec;
}

std::vector<ExampleModel> ModelsOfPictures() {
  const Spaces large = {Image({84, 84, 1}), Discrete(6)}, small = {Image({40, 36, 3}), Discrete(4)};
  const auto thirds = ModelSpec::Parse(
      "murmurate-model 1\nobservation uint8 96 96 3\naction discrete 4\ninput - stack 1\n"
      "conv 8 6 3 0 relu\nconv 8 4 2 0 relu\nflatten\ntrunk\ndense 32 relu\nseparate_value 0\n"
      "normalize_observation 0\n");
  return {{"nature_cnn", *MakeSpec({.trunk = "nature_cnn", .frame_stack = 4}, large)},
          {"impala_cnn", *MakeSpec({.trunk = "impala_cnn", .recurrent = "lstm 32"}, small)},
          {"blocks of 3 x 3", *thirds}};
}

}  // namespace murmurate
