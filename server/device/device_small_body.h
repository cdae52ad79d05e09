// DeviceSmallBody: policy and value, or one network, of a few small dense layers, in four kernels a step
// (calls/small_network.h) where layer by layer takes about thirty; inside server/device only.
#pragma once

#include <vector>

#include "server/compute/device/calls/small_network.h"
#include "server/device/device_body.h"

namespace murmurate {

class DeviceSmallBody : public DeviceBody {
 public:
  /// Whether the network is one of these: one input without layers of its own, up to four dense
  /// layers of up to 512 units; and whether that costs less than layer by layer
  /// (small_network_cost.h).
  static bool Suits(const DeviceBodyRequest& request);

  /// Of a network that it suits.
  explicit DeviceSmallBody(const DeviceBodyRequest& request);

  void Forward(const DevicePass& pass, bool values_alone) override;
  void Backward(const DevicePass& pass) override;

 private:
  struct Dense {
    std::size_t weight, bias;  ///< floats from the start of the parameters
    int in, out;
    Activation activation;
    DeviceArray<float> x, y, dz;
  };
  struct Tower {
    DeviceArray<float> features;  ///< what the heads read
    std::vector<Dense> trunk = {}, heads = {};
  };

  void AddTrunk(const NetworkPlan& plan, DeviceArray<float> input);
  DeviceArray<float> AddHead(const PlannedLayer& head, DeviceArray<float> dz);
  Dense MakeDense(const PlannedLayer& planned, DeviceArray<float> x, DeviceArray<float> dz) const;
  static SmallLayer OnDeviceNow(const Dense& layer);
  static SmallTower OnDeviceNow(const Tower& tower, std::size_t first_head);
  Grid RowsGrid(const DevicePass& pass, std::size_t towers) const;
  std::size_t RowsAPart(std::size_t rows) const;
  SmallGradients Gradients(std::size_t parts) const;

  DeviceRoom* const room_;
  std::vector<Tower> towers_;  ///< the policy's; the value's where it has its own
  int widest_ = 0;             ///< of what layers give
  int widest_read_ = 0;        ///< of what they read or give
  std::size_t numbers_ = 0;    ///< weights and biases
  std::uint32_t tiles_ = 0;    ///< of all weights
  DeviceArray<float> sums_;    ///< [parts][numbers]
};

}  // namespace murmurate
