#include "server/network/target_networks.h"

#include <algorithm>
#include <string>

namespace murmurate {

TargetNetworks::TargetNetworks(const ModelSpec& spec, const ParameterLayout& layout) {
  for (const TensorSlot& tensor : layout.tensors) {
    const std::size_t dot = tensor.name.find('.');
    const NetworkSpec* const network = spec.Find(tensor.name.substr(0, dot));
    if (network == nullptr || network->follows.empty()) continue;
    const TensorSlot& followed = layout.Find(network->follows + tensor.name.substr(dot));
    pairs_.push_back({followed.offset, tensor.offset, tensor.count});
  }
}

void TargetNetworks::Move(std::span<float> parameters, float part) const {
  for (const Pair& pair : pairs_) {
    const std::span<const float> from = parameters.subspan(pair.from, pair.count);
    const std::span<float> to = parameters.subspan(pair.to, pair.count);
    if (part >= 1.0f) {
      std::ranges::copy(from, to.begin());
    } else {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += part * (from[i] - to[i]);
    }
  }
}

}  // namespace murmurate
