// NetworkLayer: one layer of a plan at work on the learner; inside server/network only. There is
// one class for each kind of shared/model/layer_kinds.h (flatten needs none: rows are contiguous
// and NHWC already; recurrent_layer.h has the recurrent ones). LayerChain runs them one after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/compute/layer_gradient_kernels.h"
#include "server/network/sequences.h"
#include "shared/core/aligned_floats.h"
#include "shared/inference/kernel_terms.h"
#include "shared/model/model_spec.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// LayerRows is a layer's output and the next one's input: all rows of the last Forward.
struct LayerRows {
  const float* data = nullptr;
  const std::uint8_t* bytes = nullptr;  ///< instead of data: worth bytes / 255 (a picture)
  std::ptrdiff_t stride = 0;            ///< elements from one row to the next

  const float* Row(int row) const { return data + stride * row; }
};

/// Two blocks that gradients go back and forth between.
struct GradientPair {
  std::size_t floats = 0;  ///< wanted so far, of each
  AlignedFloats even, odd;
};

/// LayerRoom is the memory that all layers of one network share. Layers say in their constructors
/// how much they want.
struct LayerRoom {
  const ParameterLayout& layout;
  const int max_rows;
  GradientPair vectors = {}, pictures = {};
  std::size_t scratch_floats = 0;
  AlignedFloats scratch = {};
  Sequences sequences = {};  ///< of the last Forward
  const LayerGradientKernels& kernels = BestKernels<LayerGradientKernels>();

  void WantScratch(std::size_t floats);
  void Allocate();  ///< once all layers are there
};

struct LayerBackward {
  const float* parameters = nullptr;
  float* gradient = nullptr;  ///< of all parameters, added to; null: not wanted
  bool wants_input = true;    ///< of a chain that can give the gradient of its inputs
  int first = 0, count = 0;   ///< rows
  /// [count][out]: gradient of what the layer computed before its own activation; may be used up.
  float* dy = nullptr;
  float* dx = nullptr;  ///< [count][in], room for the gradient of the inputs; null: not wanted
  /// The gradient of the activation that made the inputs: applied to dx by a layer that fuses().
  Epilogue below = Epilogue::kNone;
};

class NetworkLayer {
 public:
  /// `in` must stay where it is.
  NetworkLayer(const PlannedLayer& planned, const LayerRows* in, LayerRoom* room);
  virtual ~NetworkLayer() = default;
  NetworkLayer(const NetworkLayer&) = delete;
  NetworkLayer& operator=(const NetworkLayer&) = delete;

  virtual void Forward(const float* parameters, int first, int count) = 0;
  /// Prepares the weights before the first Backward after the parameters changed.
  virtual void TransposeWeights(const float*) {}
  /// Gives the gradient of the inputs: dx, or dy where the layer works in place.
  virtual float* Backward(const LayerBackward& call) = 0;
  virtual bool fuses() const { return false; }

  const PlannedLayer& planned() const { return planned_; }
  const LayerRows& in() const { return *in_; }
  const LayerRows& out() const { return out_; }
  /// The activation that Backward's caller applies to the gradient of out() before it gives dy.
  Activation activation() const { return planned_.layer.activation; }

 protected:
  std::size_t in_count() const { return static_cast<std::size_t>(planned_.in.count()); }
  std::size_t out_count() const { return static_cast<std::size_t>(planned_.out.count()); }
  void AllocateOutput();
  float* Output(int row) { return output_.data() + static_cast<std::size_t>(row) * out_count(); }

  const PlannedLayer planned_;
  const LayerRows* const in_;
  LayerRoom* const room_;
  LayerRows out_;
  AlignedFloats output_;  ///< [max_rows][out]
};

/// LayerRequest says what MakeNetworkLayer makes; it returns null for flatten. A gradient of the
/// inputs is needed when some layer below learns. `open`: the residual that an add closes.
/// `at_once`: rows that come together.
struct LayerRequest {
  const PlannedLayer& planned;
  const LayerRows* in;
  LayerRoom* room;
  bool needs_input_gradient;
  int at_once;
  NetworkLayer* open;
};
std::unique_ptr<NetworkLayer> MakeNetworkLayer(const LayerRequest& request);

/// One kind of layer and what makes it. A file of layers lists its own; MakeNetworkLayer asks all
/// lists.
struct LayerMaker {
  Layer::Kind kind;
  std::unique_ptr<NetworkLayer> (*make)(const LayerRequest& request);
};
template <typename Made>
std::unique_ptr<NetworkLayer> MakeLayer(const LayerRequest& request) {
  return std::make_unique<Made>(request);
}
std::span<const LayerMaker> WindowLayers();
std::span<const LayerMaker> ElementwiseLayers();

}  // namespace murmurate
