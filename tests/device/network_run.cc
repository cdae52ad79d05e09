#include "tests/device/network_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "server/compute/device/kernel_language.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/observation_layout.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

std::vector<float> Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

/// The plan of the network that reads the most inputs.
NetworkPlan WidestPlan(const ModelSpec& spec) {
  NetworkPlan policy = *PlanNetwork(spec, "policy"), value = *PlanNetwork(spec, "value");
  return value.inputs.size() > policy.inputs.size() ? value : policy;
}

/// One row of an input as the first layer takes it. `statistic`: its first number among the
/// statistics; below 0: not normalized.
std::vector<float> Encoded(const ObservationInput& input, const PlannedInput& planned,
                           const std::byte* row, const float* mean, const float* variance) {
  std::vector<float> to;
  const int stacked = input.shape.empty() ? 1 : input.shape.back();
  for (int j = 0; j < input.elements; ++j) {
    if (input.element == Element::kUint8) {
      to.push_back(static_cast<float>(row[input.offset_bytes + j]) * (1.0f / 255.0f));
      continue;
    }
    std::int32_t word;
    std::memcpy(&word, row + input.offset_bytes + 4 * j, 4);
    if (input.element == Element::kInt32) {
      for (int k = 0; k < input.categories[j]; ++k) to.push_back(k == word ? 1.0f : 0.0f);
      continue;
    }
    float number;
    std::memcpy(&number, &word, 4);
    if (mean != nullptr) {
      const int frame = stacked / planned.stack, at = j / stacked * frame + j % frame;
      number =
          std::clamp((number - mean[at]) * (1.0f / std::sqrt(variance[at] + 1e-8f)), -10.0f, 10.0f);
    }
    to.push_back(number);
  }
  return to;
}

std::vector<std::vector<float>> EncodedInputs(const NetworkRows& rows) {
  const ModelSpec& spec = rows.spec;
  const ParameterLayout layout(spec);
  const ObservationLayout observation(StackedObservation(spec));
  std::vector<std::vector<float>> inputs;
  std::size_t statistic = 0;
  for (const PlannedInput& planned : WidestPlan(spec).inputs) {
    const ObservationInput& input = observation.inputs()[planned.input];
    const float *mean = nullptr, *variance = nullptr;
    if (spec.normalize_observation && input.element == Element::kFloat32) {
      mean = rows.parameters.data() + layout.Find("statistics.observation.mean").offset + statistic;
      variance = rows.parameters.data() + layout.Find("statistics.observation.variance").offset +
                 statistic;
      statistic += planned.in.count() / planned.stack;
    }
    std::vector<float>& all = inputs.emplace_back();
    const auto* row = reinterpret_cast<const std::byte*>(rows.words.data());
    for (int i = 0; i < rows.rows(); ++i, row += observation.row_bytes()) {
      const std::vector<float> one = Encoded(input, planned, row, mean, variance);
      MURMURATE_CHECK(static_cast<std::int64_t>(one.size()) == planned.in.count(), "width");
      all.insert(all.end(), one.begin(), one.end());
    }
  }
  return inputs;
}

/// Pictures of that shape, squares of block x block pixels together.
std::vector<float> InBlocks(const std::vector<float>& pictures, const LayerShape& shape,
                            int block) {
  std::vector<float> laid;
  const auto count = static_cast<std::size_t>(shape.count());
  for (std::size_t picture = 0; picture < pictures.size(); picture += count)
    for (int top = 0; top < shape.height; top += block)
      for (int left = 0; left < shape.width; left += block)
        for (int y = top; y < top + block; ++y)
          for (int x = left; x < left + block; ++x)
            for (int channel = 0; channel < shape.channels; ++channel)
              laid.push_back(pictures[picture + (y * shape.width + x) * shape.channels + channel]);
  return laid;
}

void ExpectNear(const std::string& what, std::span<const float> device,
                std::span<const float> here) {
  ASSERT_EQ(device.size(), here.size()) << what;
  float largest = 0;
  for (const float value : here) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < here.size(); ++i)
    ASSERT_NEAR(device[i], here[i], 1e-5f * largest) << what << " [" << i << "]";
}

}  // namespace

NetworkRows::NetworkRows(const ModelSpec& of_spec, int of_steps, int of_lanes, std::uint64_t seed)
    : spec(of_spec),
      steps(of_steps),
      lanes(of_lanes),
      parameters(RandomParameters(spec)),
      words(RandomRows(spec, rows(), seed)),
      inputs(EncodedInputs(*this)),
      first(rows()) {
  const NetworkPlan policy = *PlanNetwork(spec, "policy");
  state0 = Normals(static_cast<std::size_t>(lanes) * policy.state_floats, seed + 1);
  d_outputs = Normals(static_cast<std::size_t>(rows()) * policy.outputs, seed + 2);
  d_values = Normals(rows(), seed + 3);
  Random random(seed + 4);
  for (std::uint8_t& begins : first) begins = random.UniformInt(4) == 0 ? 1 : 0;
}

NetworkNumbers NetworkRows::OnThisProcessor() const {
  ActorCritic network(spec, rows());
  NetworkNumbers numbers;
  numbers.outputs.resize(d_outputs.size());
  numbers.values.resize(d_values.size());
  numbers.state.resize(state0.size());
  numbers.gradient.resize(network.layout().trained_count());
  const Sequences sequences{steps, lanes, first.data(), state0.data(), numbers.state.data()};
  network.Forward(parameters, words.data(), rows(), numbers.outputs.data(), numbers.values.data(),
                  network.state_floats() > 0 ? &sequences : nullptr);
  network.Backward(parameters, d_outputs.data(), d_values.data(), numbers.gradient);
  return numbers;
}

NetworkOnDevice::NetworkOnDevice(const ModelSpec& spec, int max_rows, HostDeviceOptions options,
                                 DeviceNetworkForm form)
    : device_(std::move(options)) {
  const NetworkPlan policy = *PlanNetwork(spec, "policy"), value = *PlanNetwork(spec, "value");
  planned_ = WidestPlan(spec).inputs;
  for (const PlannedInput& input : planned_)
    inputs_.push_back({DeviceBlock(&memory_, MemoryPurpose::kBatches,
                                   static_cast<std::size_t>(max_rows) * input.in.count(),
                                   TypeOfInput(policy, value, inputs_.size(),
                                               device_.description().arithmetic.pictures)),
                       BlockOfPicture(policy, value, inputs_.size())});
  network_ = std::make_unique<DeviceNetwork>(spec, max_rows, inputs_, &memory_, form);
  const std::size_t states = static_cast<std::size_t>(max_rows) * network_->state_floats();
  parameters_ = memory_.Plan<float>(MemoryPurpose::kParameters, network_->layout().total);
  gradient_ = memory_.Plan<float>(MemoryPurpose::kParameters, network_->layout().trained_count());
  state0_ = memory_.Plan<float>(MemoryPurpose::kBatches, states);
  state_out_ = memory_.Plan<float>(MemoryPurpose::kBatches, states);
  first_ = memory_.Plan<std::uint8_t>(MemoryPurpose::kBatches, max_rows);
  MURMURATE_CHECK(memory_.Allocate(&device_).ok(), "memory of the host device");
  device_.ClearMemory(Stream::kMain, gradient_.data(), gradient_.bytes());
}

void NetworkOnDevice::Load(const NetworkRows& rows) {
  rows_ = &rows;
  const auto copy = [&](const auto& to, const auto& from) {
    if (from.empty()) return;
    device_.CopyIn(Stream::kMain, to.data(), from.data(), from.size() * sizeof(from[0]));
  };
  copy(parameters_, rows.parameters);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<float> laid = InBlocks(rows.inputs[i], planned_[i].in, inputs_[i].block);
    std::vector<Bf16> rounded(laid.size());
    std::ranges::transform(laid, rounded.begin(), Narrowed<Bf16>);
    if (inputs_[i].numbers.type() == ElementType::kBf16)
      copy(inputs_[i].numbers, rounded);
    else
      copy(inputs_[i].numbers, laid);
    device_.Finish();  // which has read them
  }
  copy(first_, rows.first);
  copy(state0_, rows.state0);
  copy(network_->d_outputs(), rows.d_outputs);
  copy(network_->d_values(), rows.d_values);
}

DeviceRows NetworkOnDevice::Rows() const {
  DeviceRows rows{.rows = rows_->rows()};
  if (network_->state_floats() == 0) return rows;
  rows.steps = rows_->steps;
  rows.lanes = rows_->lanes;
  rows.first = first_.data();
  rows.state0 = state0_.data();
  rows.state_out = state_out_.data();
  return rows;
}

void NetworkOnDevice::Forward(bool values_alone) {
  network_->Forward(&device_, Stream::kMain, parameters_.data(), Rows(), values_alone);
}

void NetworkOnDevice::Backward() {
  network_->Backward(&device_, Stream::kMain, parameters_.data(), Rows(), gradient_.data());
}

NetworkNumbers NetworkOnDevice::Numbers() {
  NetworkNumbers numbers;
  const auto copy = [&](std::vector<float>* to, const DeviceArray<float>& from, std::size_t count) {
    to->resize(count);
    if (count > 0) device_.CopyOut(Stream::kMain, to->data(), from.data(), count * sizeof(float));
  };
  copy(&numbers.outputs, network_->outputs(), rows_->d_outputs.size());
  copy(&numbers.values, network_->values(), rows_->d_values.size());
  copy(&numbers.state, state_out_, rows_->state0.size());
  copy(&numbers.gradient, gradient_, network_->layout().trained_count());
  device_.Finish();
  MURMURATE_CHECK(device_.error().empty(), device_.error().c_str());
  return numbers;
}

NetworkNumbers NetworkOnDevice::Run(const NetworkRows& rows) {
  Load(rows);
  Forward();
  Backward();
  return Numbers();
}

void ExpectSameNumbers(const ModelSpec& spec, const NetworkNumbers& device,
                       const NetworkNumbers& here) {
  ExpectNear("outputs", device.outputs, here.outputs);
  ExpectNear("values", device.values, here.values);
  ExpectNear("state", device.state, here.state);
  const ParameterLayout layout(spec);
  std::vector<bool> of_a_tensor(layout.trained_count());
  for (const TensorSlot& slot : layout.tensors) {
    if (slot.section == Section::kStatistics) continue;
    std::fill_n(of_a_tensor.begin() + slot.offset, slot.count, true);
    ExpectNear(slot.name, std::span(device.gradient).subspan(slot.offset, slot.count),
               std::span(here.gradient).subspan(slot.offset, slot.count));
  }
  for (std::size_t i = 0; i < of_a_tensor.size(); ++i)
    ASSERT_TRUE(of_a_tensor[i] || device.gradient[i] == 0.0f) << "padding at " << i;
}

}  // namespace murmurate
