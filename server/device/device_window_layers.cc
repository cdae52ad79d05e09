#include <algorithm>

#include "server/compute/device/calls/max_pool.h"
#include "server/device/device_layer.h"
#include "server/device/device_sums.h"

namespace murmurate {
namespace {

std::size_t Places(const LayerShape& shape) {
  return static_cast<std::size_t>(shape.height) * shape.width;
}

class DeviceConv : public DeviceLayer {
 public:
  DeviceConv(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room),
        weight_(room_->Offset(planned_.name + ".weight")),
        bias_(room_->Offset(planned_.name + ".bias")) {
    out_ = room_->Rows(out_count());
    room_->WantConvolutions();
    room_->WantSums(Places(planned_.out), filters());
  }

  void Forward(const DevicePass& pass) override {
    Convolve(pass, ConvolutionCall::Kind::kForward, in_.data(), pass.parameters + weight_,
             out_.data());
    pass.device->Launch(pass.stream, GridOver(pass.Numbers(out_count())),
                        BiasActivationCall{.y = out_.data(),
                                           .bias = pass.parameters + bias_,
                                           .rows = pass.Numbers(Places(planned_.out)),
                                           .columns = filters(),
                                           .activation = OnDevice(planned_.layer.activation)});
  }

  float* Backward(const DevicePass& pass, float* dy, float* dx) override {
    SumColumns(pass, *room_,
               {.dy = dy,
                .rows = pass.Numbers(Places(planned_.out)),
                .columns = filters(),
                .y = out_.data(),
                .activation = OnDevice(planned_.layer.activation)},
               pass.gradient + bias_);
    Convolve(pass, ConvolutionCall::Kind::kWeightGradient, in_.data(), pass.gradient + weight_, dy);
    if (dx != nullptr)
      Convolve(pass, ConvolutionCall::Kind::kInputGradient, dx, pass.parameters + weight_, dy);
    return dx;
  }

 private:
  int filters() const { return planned_.layer.units; }

  /// A call only writes the block that its kind names.
  void Convolve(const DevicePass& pass, ConvolutionCall::Kind kind, const float* input,
                const float* weight, const float* output) const {
    pass.device->Convolve(pass.stream, {.kind = kind,
                                        .images = pass.rows.rows,
                                        .height = planned_.in.height,
                                        .width = planned_.in.width,
                                        .channels = planned_.in.channels,
                                        .filters = filters(),
                                        .kernel = planned_.layer.kernel,
                                        .stride = planned_.layer.stride,
                                        .padding = planned_.layer.padding,
                                        .input = const_cast<float*>(input),
                                        .weight = const_cast<float*>(weight),
                                        .output = const_cast<float*>(output)});
  }

  const std::size_t weight_, bias_;  ///< floats from the start of the parameters
};

class DeviceMaxPool : public DeviceLayer {
 public:
  DeviceMaxPool(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room) {
    out_ = room_->Rows(out_count());
    winner_ = room_->Rows<std::int32_t>(out_count());
  }

  void Forward(const DevicePass& pass) override {
    const PoolGeometry pool = Geometry(pass);
    pass.device->Launch(
        pass.stream, PictureGrid(pool, out_count()),
        PoolCall{
            .pool = pool, .input = in_.data(), .output = out_.data(), .winner = winner_.data()});
  }
  float* Backward(const DevicePass& pass, float* dy, float* dx) override {
    if (dx == nullptr) return nullptr;
    const PoolGeometry pool = Geometry(pass);
    pass.device->Launch(
        pass.stream, PictureGrid(pool, in_count()),
        PoolGradientCall{.pool = pool, .winner = winner_.data(), .d_output = dy, .d_input = dx});
    return dx;
  }

 private:
  PoolGeometry Geometry(const DevicePass& pass) const {
    constexpr int kMostImageRows = 256;
    return {.height = planned_.in.height,
            .width = planned_.in.width,
            .channels = planned_.in.channels,
            .out_height = planned_.out.height,
            .out_width = planned_.out.width,
            .kernel = planned_.layer.kernel,
            .stride = planned_.layer.stride,
            .padding = planned_.layer.padding,
            .images = pass.rows.rows,
            .image_rows = std::min(pass.rows.rows, kMostImageRows)};
  }
  static Grid PictureGrid(const PoolGeometry& pool, std::size_t numbers) {
    Grid grid = Grid::For(numbers);
    grid.rows = static_cast<std::uint32_t>(pool.image_rows);
    return grid;
  }

  DeviceArray<std::int32_t> winner_;  ///< [max_rows][out]
};

constexpr DeviceLayerMaker kMakers[] = {{Layer::Kind::kConv, MakeOnDevice<DeviceConv>},
                                        {Layer::Kind::kMaxPool, MakeOnDevice<DeviceMaxPool>}};

}  // namespace

std::span<const DeviceLayerMaker> DeviceWindowLayers() { return kMakers; }

}  // namespace murmurate
