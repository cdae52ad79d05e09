#include "server/stream/forecast_network.h"

#include <algorithm>

namespace murmurate {

ForecastNetwork::ForecastNetwork(const ForecastSettings& settings, const DeviceShape& shape,
                                 const ModelSpec& spec)
    : settings_(settings),
      shape_(shape),
      layout_(spec),
      policy_(spec),
      inputs_(kMostRows * static_cast<std::size_t>(shape.state > 0 ? shape.inputs
                                                                   : shape.inputs * shape.window)),
      states_(kMostRows * static_cast<std::size_t>(shape.state)),
      outputs_(kMostRows * static_cast<std::size_t>(shape.outputs)),
      scratch_(policy_.ScratchFloats(static_cast<int>(kMostRows))),
      leaving_(kMostRows * static_cast<std::size_t>(shape.inputs)) {}

void ForecastNetwork::ApplyWeights(const Snapshot& snapshot) {
  const std::span<const float> all(snapshot.parameters.data(), snapshot.parameters.size());
  policy_.Pack(all.subspan(layout_.published.offset, layout_.published.count),
               all.subspan(layout_.statistics.offset, layout_.statistics.count));
  version_ = snapshot.version;
}

void ForecastNetwork::KeepLeaving(std::size_t place, StreamDevice* device) {
  if (device->rows < static_cast<std::uint64_t>(shape_.depth)) return;
  std::ranges::copy(device->Row(device->rows), leaving_.data() + place * shape_.inputs);
}

std::span<const float> ForecastNetwork::Forward(Devices due) {
  if (version_ == 0) {
    std::fill(outputs_.begin(), outputs_.end(), 0.0f);
  } else if (shape_.state > 0 && settings_.per_device_state) {
    StepTails(due);
    StepHeads(due);
  } else if (shape_.state > 0) {
    StepWindows(due);
  } else {
    ForwardWindows(due);
  }
  return {outputs_.data(), due.size() * static_cast<std::size_t>(shape_.outputs)};
}

/// The states before the oldest rows of sequences, from which an older one has just left.
void ForecastNetwork::StepTails(Devices due) {
  for (std::size_t group = 0; group < shape_.groups.size(); ++group) {
    const auto kept = static_cast<std::uint64_t>(shape_.window + shape_.groups[group].nearest);
    const std::size_t inputs = static_cast<std::size_t>(shape_.inputs);
    int count = 0;
    for (std::size_t i = 0; i < due.size(); ++i) {
      StreamDevice* const device = due[i].get();
      if (device->rows <= kept) continue;
      const float* const left = kept == static_cast<std::uint64_t>(shape_.depth)
                                    ? leaving_.data() + i * inputs
                                    : device->Row(device->rows - 1 - kept).data();
      std::copy_n(left, inputs, inputs_.data() + count * inputs);
      std::ranges::copy(device->Tail(group), states_.data() + count * shape_.state);
      ++count;
    }
    if (count == 0) continue;
    policy_.Forward(inputs_.data(), count, outputs_.data(), scratch_.data(), states_.data());
    const float* state = states_.data();
    for (const auto& device : due) {
      if (device->rows <= kept) continue;
      std::copy_n(state, shape_.state, device->Tail(group).begin());
      state += shape_.state;
    }
  }
}

void ForecastNetwork::StepHeads(Devices due) {
  const std::size_t inputs = static_cast<std::size_t>(shape_.inputs);
  for (std::size_t i = 0; i < due.size(); ++i) {
    std::ranges::copy(due[i]->Row(due[i]->rows - 1), inputs_.data() + i * inputs);
    std::ranges::copy(due[i]->Floats(Part::kHead), states_.data() + i * shape_.state);
  }
  policy_.Forward(inputs_.data(), static_cast<int>(due.size()), outputs_.data(), scratch_.data(),
                  states_.data());
  for (std::size_t i = 0; i < due.size(); ++i)
    std::copy_n(states_.data() + i * shape_.state, shape_.state,
                due[i]->Floats(Part::kHead).begin());
}

/// Steps each device from an empty state through its window, one device at a time: windows may
/// differ in length.
void ForecastNetwork::StepWindows(Devices due) {
  for (std::size_t i = 0; i < due.size(); ++i) {
    std::fill_n(states_.data(), shape_.state, 0.0f);
    const std::uint64_t end = due[i]->rows;
    const auto window = static_cast<std::uint64_t>(shape_.window);
    for (std::uint64_t row = end - std::min(end, window); row < end; ++row)
      policy_.Forward(due[i]->Row(row).data(), 1, outputs_.data() + i * shape_.outputs,
                      scratch_.data(), states_.data());
  }
}

void ForecastNetwork::ForwardWindows(Devices due) {
  const std::size_t width = static_cast<std::size_t>(shape_.inputs * shape_.window);
  for (std::size_t i = 0; i < due.size(); ++i)
    due[i]->CopyWindow(due[i]->rows - 1, inputs_.data() + i * width);
  policy_.Forward(inputs_.data(), static_cast<int>(due.size()), outputs_.data(), scratch_.data());
}

}  // namespace murmurate
