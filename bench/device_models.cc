#include "bench/device_models.h"

#include <algorithm>

namespace murmurate {
namespace {

ModelSpec FromText(const std::string& text) {
  return *ModelSpec::Parse("murmurate-model 1\n" + text);
}

ModelSpec Dense(int observations, int units, int actions) {
  const std::string layer = "dense " + std::to_string(units) + " tanh\n";
  return FromText("observation float32 " + std::to_string(observations) + "\naction discrete " +
                  std::to_string(actions) + '\n' + layer + layer +
                  "separate_value 1\nnormalize_observation 0\n");
}

ModelSpec NatureCnn() {
  return FromText(
      "observation uint8 84 84 4\naction discrete 6\ninput - stack 1\nconv 32 8 4 0 relu\n"
      "conv 64 4 2 0 relu\nconv 64 3 1 0 relu\nflatten\ntrunk\ndense 512 relu\n"
      "separate_value 0\nnormalize_observation 0\n");
}

/// Espeholt et al. 2018, figure 3, right, without its LSTM: 15 convolutions.
ModelSpec DeepNetwork() {
  std::string text = "observation uint8 84 84 4\naction discrete 6\ninput - stack 1\n";
  for (const int filters : {16, 32, 32}) {
    const std::string conv = "conv " + std::to_string(filters) + " 3 1 1 ";
    text += conv + "none\nmax_pool 3 2 1\n";
    for (int block = 0; block < 2; ++block)
      text += "residual\nrelu\n" + conv + "relu\n" + conv + "none\nadd\n";
  }
  return FromText(text +
                  "relu\nflatten\ntrunk\ndense 256 relu\n"
                  "separate_value 0\nnormalize_observation 0\n");
}

ModelSpec Lstm() {
  return FromText(
      "observation float32 17\naction discrete 6\ndense 64 tanh\nlstm 128\nseparate_value 0\n"
      "normalize_observation 0\n");
}

AlgorithmSettings Settings(int minibatch, int length, int epochs) {
  AlgorithmSettings settings;
  settings.trajectory_length = std::min(length, minibatch / 2);
  settings.batch_steps = minibatch;
  settings.minibatch = minibatch;
  settings.epochs = epochs;
  settings.entropy = 0.01;
  settings.learning_rate = 1e-6;  // the same work at every step
  return settings;
}

}  // namespace

std::vector<DeviceStepRow> DeviceStepRows(bool small) {
  std::vector<DeviceStepRow> rows;
  const auto few = [](const ModelSpec& spec) { return spec.policy().encoders.empty() ? 16 : 4; };
  // As many updates of a batch as take some milliseconds.
  const auto add = [&](const std::string& model, const ModelSpec& spec, int minibatch, int updates,
                       DevicePrecision precision) {
    rows.push_back({.name = model + '/' + std::to_string(minibatch),
                    .spec = spec,
                    .settings = Settings(small ? few(spec) : minibatch, 128, small ? 3 : updates),
                    .precision = precision});
  };
  add("4-64-64-2", Dense(4, 64, 2), 1024, 256, DevicePrecision::kFp32);
  add("4-64-64-2", Dense(4, 64, 2), 8192, 128, DevicePrecision::kFp32);
  add("4-64-64-2", Dense(4, 64, 2), 65536, 32, DevicePrecision::kFp32);
  add("17-256-256-6", Dense(17, 256, 6), 2048, 128, DevicePrecision::kTf32);
  add("17-256-256-6", Dense(17, 256, 6), 65536, 8, DevicePrecision::kTf32);
  add("nature-cnn", NatureCnn(), 1024, 16, DevicePrecision::kBf16);
  add("impala-deep", DeepNetwork(), 1024, 4, DevicePrecision::kBf16);
  add("lstm-128", Lstm(), 8192, 8, DevicePrecision::kFp32);
  return rows;
}

ModelSpec PublishedModel(bool small) {
  const std::string units = small ? "16" : "1024", more = small ? "24" : "1536";
  return FromText("observation float32 96\naction discrete 8\ndense " + units + " tanh\ndense " +
                  more + " tanh\nseparate_value 0\nnormalize_observation 0\n");
}

ModelSpec ManyNumbersModel(bool small) {
  const std::string layer = small ? "dense 100 tanh\n" : "dense 10000 tanh\n";
  return FromText("observation float32 4\naction discrete 2\n" + layer + layer +
                  "separate_value 0\nnormalize_observation 0\n");
}

}  // namespace murmurate
