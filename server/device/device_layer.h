// DeviceLayer: one layer of a plan at work on a device; inside server/device only. There is one
// class for each kind of shared/model/layer_kinds.h; flatten needs one where the type of the numbers
// changes alone, for rows are contiguous and NHWC already. DeviceChain runs them one after the other, and each takes all rows
// of a minibatch at once. What they compute is what server/network's layers compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_block.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// The rows of one Forward and its Backward. Pointers are to memory of the device and stay until
/// the Backward is done.
struct DeviceRows {
  int rows = 0;
  /// Of recurrent models, whose rows are time-major as those of Sequences: rows = steps x lanes.
  int steps = 0, lanes = 0;
  const std::uint8_t* first =
      nullptr;                    ///< [steps][lanes]: 1 where an episode begins; null: nowhere
  const float* state0 = nullptr;  ///< [lanes][state_floats] before the first step; null: zeros
  float* state_out = nullptr;     ///< [lanes][state_floats] after the last; null: not wanted
};

/// What is enqueued, where, and for which rows.
struct DevicePass {
  Device* device = nullptr;
  Stream stream = Stream::kMain;
  const float* parameters = nullptr;
  /// Of a Backward: of all parameters, each tensor overwritten; null: not wanted.
  float* gradient = nullptr;
  DeviceRows rows = {};
  float* d_actions = nullptr;  ///< of a Backward: [rows][action features]; null: not wanted

  std::size_t Numbers(std::size_t each) const { return static_cast<std::size_t>(rows.rows) * each; }
};

/// Memory that the layers of a device's network share. Layers say in their constructors how much
/// they want, and Plan plans that.
class DeviceRoom {
 public:
  DeviceRoom(const ParameterLayout& layout, int max_rows, DeviceMemory* memory)
      : layout_(layout), max_rows_(max_rows), memory_(memory) {}

  const ParameterLayout& layout() const { return layout_; }
  int max_rows() const { return max_rows_; }
  /// The tensor's first float, counted from the start of the parameters.
  std::size_t Offset(const std::string& tensor) const { return layout_.Find(tensor).offset; }
  /// Plans [max_rows][width], which belongs to the caller alone.
  template <typename T = float>
  DeviceArray<T> Rows(std::size_t width) {
    return memory_->Plan<T>(MemoryPurpose::kActivations,
                            static_cast<std::size_t>(max_rows_) * width);
  }
  DeviceBlock Rows(std::size_t width, ElementType type) {
    return {memory_, MemoryPurpose::kActivations, static_cast<std::size_t>(max_rows_) * width,
            type};
  }

  /// Plans `floats`, which belong to the caller alone.
  DeviceArray<float> PlanWorkspace(std::size_t floats) {
    return memory_->Plan<float>(MemoryPurpose::kWorkspace, floats);
  }

  void WantProducts() { memory_->WantProducts(); }  ///< Device::Multiply
  void WantConvolutions() { memory_->WantConvolutions(); }
  void WantGradients(std::size_t width, ElementType type);  ///< of a row, anywhere in a network
  void WantAround(std::size_t width, ElementType type);  ///< the same, where a residual block ends
  void WantCarried(std::size_t width);                   ///< of a lane, from step to step
  /// `sums` sums of each column over max_rows x rows_each rows.
  void WantSums(std::size_t rows_each, int columns, int sums = 1);
  void Plan();  ///< once all layers are there

  // After Plan.
  void* even() const { return even_.data(); }  ///< gradients go back and forth between these two
  void* odd() const { return odd_.data(); }
  void* around() const { return around_.data(); }
  float* carried() const { return carried_.data(); }
  double* partials() const { return partials_.data(); }  ///< of sums over rows

 private:
  const ParameterLayout& layout_;
  const int max_rows_;
  DeviceMemory* const memory_;
  std::size_t gradient_bytes_ = 0, around_bytes_ = 0;  ///< of a row
  std::size_t carried_width_ = 0, sums_ = 0;
  DeviceArray<std::byte> even_, odd_, around_;
  DeviceArray<float> carried_;
  DeviceArray<double> partials_;
};

class DeviceLayer {
 public:
  /// `in`: [max_rows][in], what the layer before gives.
  DeviceLayer(const PlannedLayer& planned, const DeviceBlock& in, DeviceRoom* room);
  virtual ~DeviceLayer() = default;
  DeviceLayer(const DeviceLayer&) = delete;
  DeviceLayer& operator=(const DeviceLayer&) = delete;

  virtual void Forward(const DevicePass& pass) = 0;
  /// dy [rows][out]: gradient of the outputs, of their type; is used up. dx [rows][in]: room for the
  /// gradient of the inputs, of their type; null: not wanted. Gives that gradient: dx, or dy where
  /// the layer works in place.
  virtual void* Backward(const DevicePass& pass, void* dy, void* dx) = 0;

  const PlannedLayer& planned() const { return planned_; }
  const DeviceBlock& in() const { return in_; }
  const DeviceBlock& out() const { return out_; }

 protected:
  std::size_t in_count() const { return static_cast<std::size_t>(planned_.in.count()); }
  std::size_t out_count() const { return static_cast<std::size_t>(planned_.out.count()); }

  const PlannedLayer planned_;
  const DeviceBlock in_;
  DeviceRoom* const room_;
  DeviceBlock out_;  ///< [max_rows][out]
};

/// DeviceLayerRequest says what MakeDeviceLayer makes. `open`: the residual that an add closes.
/// `state_floats`: what an agent carries, of all recurrent layers. `block`: of the input, where this
/// is the first layer (device_input.h).
struct DeviceLayerRequest {
  const PlannedLayer& planned;
  DeviceBlock in;
  DeviceRoom* room;
  DeviceLayer* open;
  int state_floats;
  int block = 1;
};
/// Null for flatten of numbers that stay what they are.
std::unique_ptr<DeviceLayer> MakeDeviceLayer(const DeviceLayerRequest& request);

/// One kind of layer and what makes it. A file of layers lists its own; MakeDeviceLayer asks all
/// lists.
struct DeviceLayerMaker {
  Layer::Kind kind;
  std::unique_ptr<DeviceLayer> (*make)(const DeviceLayerRequest& request);
};
template <typename Made>
std::unique_ptr<DeviceLayer> MakeOnDevice(const DeviceLayerRequest& request) {
  return std::make_unique<Made>(request);
}
std::span<const DeviceLayerMaker> DeviceWindowLayers();
std::span<const DeviceLayerMaker> DeviceElementwiseLayers();
std::span<const DeviceLayerMaker> DeviceRecurrentLayers();

inline DeviceActivation OnDevice(Activation activation) {
  return static_cast<DeviceActivation>(activation);
}

}  // namespace murmurate
