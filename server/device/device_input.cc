#include "server/device/device_input.h"

namespace murmurate {
namespace {

/// 1: the first layer takes the picture as it is.
int BlockOf(const PlannedInput& input) {
  if (input.layers.empty()) return 1;
  const PlannedLayer& first = input.layers.front();
  const int block = first.layer.stride;
  const bool suits = first.layer.kind == Layer::Kind::kConv && first.layer.padding == 0 &&
                     first.layer.kernel % block == 0 && first.in.height % block == 0 &&
                     first.in.width % block == 0;
  return suits ? block : 1;
}

/// Whether what comes before the picture is flattened is of pictures alone, with convolutions.
bool OfPictures(const PlannedInput& input) {
  bool convolves = false;
  for (const PlannedLayer& layer : input.layers) {
    if (layer.layer.form().flattens) return convolves;
    if (layer.in.vector()) return false;
    convolves = convolves || layer.layer.kind == Layer::Kind::kConv;
  }
  return false;
}

}  // namespace

int BlockOfPicture(const NetworkPlan& policy, const NetworkPlan& value, std::size_t input) {
  int block = 0;
  for (const NetworkPlan* const plan : {&policy, &value}) {
    if (input >= plan->inputs.size()) continue;  // it reads no privileged parts
    const int own = BlockOf(plan->inputs[input]);
    if (block != 0 && own != block) return 1;
    block = own;
  }
  return block;
}

ElementType TypeOfInput(const NetworkPlan& policy, const NetworkPlan& value, std::size_t input,
                        ElementType pictures) {
  for (const NetworkPlan* const plan : {&policy, &value})
    if (input < plan->inputs.size() && !OfPictures(plan->inputs[input]))
      return ElementType::kFloat32;
  return pictures;
}

}  // namespace murmurate
