#include "server/network/network_layer.h"

#include <algorithm>

#include "server/network/dense_layer.h"

namespace murmurate {

void LayerRoom::WantScratch(std::size_t floats) {
  scratch_floats = std::max(scratch_floats, floats);
}

void LayerRoom::Allocate() {
  scratch = AlignedFloats(scratch_floats);
  for (GradientPair* pair : {&vectors, &pictures}) {
    pair->even = AlignedFloats(pair->floats);
    pair->odd = AlignedFloats(pair->floats);
  }
}

NetworkLayer::NetworkLayer(const PlannedLayer& planned, const LayerRows* in, LayerRoom* room)
    : planned_(planned), in_(in), room_(room) {}

void NetworkLayer::AllocateOutput() {
  output_ = AlignedFloats(static_cast<std::size_t>(room_->max_rows) * out_count());
  out_ = {output_.data(), nullptr, static_cast<std::ptrdiff_t>(out_count())};
}

std::unique_ptr<NetworkLayer> MakeNetworkLayer(const LayerRequest& request) {
  switch (request.planned.layer.kind) {
    case Layer::Kind::kFlatten:
      return nullptr;
    case Layer::Kind::kDense:
      return std::make_unique<DenseLayer>(request);
    case Layer::Kind::kConv:
    case Layer::Kind::kMaxPool:
      return MakeWindowLayer(request);
    default:
      return MakeElementwiseLayer(request);
  }
}

}  // namespace murmurate
