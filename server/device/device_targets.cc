#include "server/device/device_targets.h"

#include <algorithm>

#include "server/device/device_sums.h"
#include "server/network/target_networks.h"

namespace murmurate {

DeviceTargets::DeviceTargets(const ModelSpec& spec, const ParameterLayout& layout,
                             DeviceMemory* memory) {
  const TargetNetworks targets(spec, layout);
  for (const TargetNetworks::Pair& pair : targets.pairs()) {
    tensors_.push_back({pair.from, pair.to, pair.count});
    largest_ = std::max(largest_, pair.count);
  }
  on_device_ = memory->Plan<TargetTensor>(MemoryPurpose::kWorkspace, tensors_.size());
}

void DeviceTargets::Upload(Device* device) const {
  device->CopyIn(Stream::kMain, on_device_.data(), tensors_.data(), on_device_.bytes());
}

void DeviceTargets::EnqueueMove(Device* device, const TrainingControl* control,
                                const ReplayLists& lists, float* parameters) const {
  device->Launch(Stream::kMain, GridOver(largest_),
                 MoveTargetsCall{.control = control,
                                 .lists = lists,
                                 .tensors = on_device_.data(),
                                 .count = static_cast<int>(tensors_.size()),
                                 .parameters = parameters});
}

}  // namespace murmurate
