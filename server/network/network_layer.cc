#include "server/network/network_layer.h"

#include <algorithm>

#include "server/network/dense_layer.h"
#include "shared/core/check.h"

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
  const Layer& layer = request.planned.layer;
  if (layer.form().flattens) return nullptr;
  static constexpr LayerMaker kDense[] = {{Layer::Kind::kDense, MakeLayer<DenseLayer>}};
  for (const std::span<const LayerMaker> makers :
       {std::span<const LayerMaker>(kDense), WindowLayers(), ElementwiseLayers()})
    for (const LayerMaker& maker : makers)
      if (maker.kind == layer.kind) return maker.make(request);
  FailCheck(__FILE__, __LINE__, "a layer of the learner's", layer.ToText().c_str());
}

}  // namespace murmurate
