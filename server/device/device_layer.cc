#include "server/device/device_layer.h"

#include <algorithm>

#include "server/compute/device/calls/column_sums.h"
#include "server/device/device_dense.h"
#include "shared/core/check.h"

namespace murmurate {

void DeviceRoom::WantGradients(std::size_t width, ElementType type) {
  gradient_bytes_ = std::max(gradient_bytes_, width * BytesOf(type));
}
void DeviceRoom::WantAround(std::size_t width, ElementType type) {
  around_bytes_ = std::max(around_bytes_, width * BytesOf(type));
}
void DeviceRoom::WantCarried(std::size_t width) {
  carried_width_ = std::max(carried_width_, width);
}

void DeviceRoom::WantSums(std::size_t rows_each, int columns, int sums) {
  const std::size_t rows = static_cast<std::size_t>(max_rows_) * rows_each;
  const std::size_t numbers = static_cast<std::size_t>(columns) * sums;
  sums_ = std::max(sums_, MostSumParts(rows, columns) * numbers);
}

void DeviceRoom::Plan() {
  even_ = Rows<std::byte>(gradient_bytes_);
  odd_ = Rows<std::byte>(gradient_bytes_);
  around_ = Rows<std::byte>(around_bytes_);
  carried_ = Rows(carried_width_);
  partials_ = memory_->Plan<double>(MemoryPurpose::kWorkspace, sums_);
}

DeviceLayer::DeviceLayer(const PlannedLayer& planned, const DeviceBlock& in, DeviceRoom* room)
    : planned_(planned), in_(in), room_(room) {
  room->WantGradients(std::max(in_count(), out_count()), in.type());
}

std::unique_ptr<DeviceLayer> MakeDeviceLayer(const DeviceLayerRequest& request) {
  const Layer& layer = request.planned.layer;
  if (layer.form().flattens && request.in.type() == ElementType::kFloat32) return nullptr;
  static constexpr DeviceLayerMaker kDense[] = {{Layer::Kind::kDense, MakeOnDevice<DeviceDense>}};
  for (const std::span<const DeviceLayerMaker> makers :
       {std::span<const DeviceLayerMaker>(kDense), DeviceWindowLayers(), DeviceElementwiseLayers(),
        DeviceRecurrentLayers()})
    for (const DeviceLayerMaker& maker : makers)
      if (maker.kind == layer.kind) return maker.make(request);
  FailCheck(__FILE__, __LINE__, "a layer of the device's", layer.ToText().c_str());
}

}  // namespace murmurate
