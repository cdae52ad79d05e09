// A network of pictures, categories and numbers with an LSTM against PyTorch's numbers
// (tests/fixtures/torch_network_lstm.txt; scripts/make_torch_network_fixtures.py draws it).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "server/network/actor_critic.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"
#include "tests/compute/torch_fixture.h"

namespace murmurate {
namespace {

constexpr const char* kModel =
    "murmurate-model 1\n"
    "observation.camera uint8 12 13 2\n"
    "observation.kind categories 3 2\n"
    "observation.speed float32 5\n"
    "action discrete 4\n"
    "input camera stack 1\nconv 6 4 2 1 relu\nresidual\nconv 6 3 1 1 elu\nadd\nmax_pool 2 2 0\n"
    "flatten\n"
    "input speed stack 1\ndense 7 tanh\n"
    "trunk\ndense 16 relu\nlayer_norm\nlstm 9\n"
    "separate_value 0\nnormalize_observation 1\n";

template <typename T>
void Write(const std::vector<double>& from, const ObservationInput& input, int row, std::byte* to) {
  for (int i = 0; i < input.elements; ++i) {
    const T number = static_cast<T>(from[row * input.elements + i]);
    std::memcpy(to + input.offset_bytes + i * sizeof(T), &number, sizeof(T));
  }
}

std::vector<std::uint32_t> Rows(const ModelSpec& spec, const TorchFixture& torch, int rows) {
  const ObservationLayout layout(StackedObservation(spec));
  std::vector<std::uint32_t> words(rows * layout.row_bytes() / 4);
  for (int row = 0; row < rows; ++row) {
    auto* const to = reinterpret_cast<std::byte*>(words.data()) + row * layout.row_bytes();
    Write<std::uint8_t>(torch.Doubles("camera"), layout.inputs()[0], row, to);
    Write<std::int32_t>(torch.Doubles("kind"), layout.inputs()[1], row, to);
    Write<float>(torch.Doubles("speed"), layout.inputs()[2], row, to);
  }
  return words;
}

TEST(TorchNetworkTest, PicturesCategoriesNumbersAndAnLstmGiveTheSame) {
  const TorchFixture torch("network_lstm");
  const Result<ModelSpec> spec = ModelSpec::Parse(kModel);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const int steps = 6, count = 3, rows = steps * count;
  ActorCritic network(*spec, rows);
  std::vector<float> parameters(network.layout().total);
  for (const TensorSlot& slot : network.layout().tensors)
    std::ranges::copy(torch.Floats(slot.name), parameters.begin() + slot.offset);
  const std::vector<std::uint32_t> observations = Rows(*spec, torch, rows);
  std::vector<std::uint8_t> first;
  for (const double flag : torch.Doubles("first")) first.push_back(flag != 0);
  const std::vector<float> state0 = torch.Floats("state0");
  std::vector<float> logits(rows * 4), values(rows), state(state0.size());
  std::vector<float> gradient(network.layout().trained_count(), std::nanf(""));
  const Sequences sequences{steps, count, first.data(), state0.data(), state.data()};
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data(), &sequences);
  network.Backward(parameters, torch.Floats("d_logits").data(), torch.Floats("d_values").data(),
                   gradient);
  ExpectClose(logits, torch.Doubles("logits"), 2e-6, 2e-6, "logits");
  ExpectClose(values, torch.Doubles("values"), 2e-6, 2e-6, "values");
  ExpectClose(state, torch.Doubles("state"), 2e-6, 2e-6, "state");
  for (const TensorSlot& slot : network.layout().tensors) {
    if (slot.section == Section::kStatistics) continue;
    ExpectClose(std::span(gradient).subspan(slot.offset, slot.count),
                torch.Doubles("d." + slot.name), 1e-5, 3e-5, "gradient of " + slot.name);
  }
}

}  // namespace
}  // namespace murmurate
