#include <algorithm>

#include "server/compute/device/calls/max_pool.h"
#include "server/compute/device/calls/picture_blocks.h"
#include "server/device/device_layer.h"
#include "server/device/device_sums.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::size_t Places(const LayerShape& shape) {
  return static_cast<std::size_t>(shape.height) * shape.width;
}

/// Over a picture in blocks it is one with as many times the channels, and filters in blocks.
class DeviceConv : public DeviceLayer {
 public:
  DeviceConv(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room),
        block_(request.block),
        weight_(room_->Offset(planned_.name + ".weight")),
        bias_(room_->Offset(planned_.name + ".bias")) {
    if (block_ > 1) filters_ = room_->PlanWorkspace(WeightCount());
    out_ = room_->Rows(out_count(), in_.type());
    room_->WantConvolutions();
    room_->WantSums(Places(planned_.out), filters());
  }

  void Forward(const DevicePass& pass) override {
    const float* weight = pass.parameters + weight_;
    if (block_ > 1) weight = BlockFilters(pass, weight, filters_.data(), false);
    Convolve(pass, ConvolutionCall::Kind::kForward, in_.data(), weight, out_.data());
    pass.device->Launch(pass.stream, GridOver(pass.Numbers(out_count())),
                        BiasActivationCall{.y = out_.data(),
                                           .bias = pass.parameters + bias_,
                                           .rows = pass.Numbers(Places(planned_.out)),
                                           .columns = filters(),
                                           .activation = OnDevice(planned_.layer.activation),
                                           .type = out_.type()});
  }

  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    SumColumns(pass, *room_,
               {.dy = dy,
                .rows = pass.Numbers(Places(planned_.out)),
                .columns = filters(),
                .y = out_.data(),
                .activation = OnDevice(planned_.layer.activation),
                .type = out_.type()},
               pass.gradient + bias_);
    float* const d_weight = pass.gradient + weight_;
    Convolve(pass, ConvolutionCall::Kind::kWeightGradient, in_.data(),
             block_ > 1 ? filters_.data() : d_weight, dy);
    if (block_ > 1) BlockFilters(pass, filters_.data(), d_weight, true);
    if (dx == nullptr) return nullptr;
    MURMURATE_CHECK(block_ == 1, "a picture in blocks is an input");
    Convolve(pass, ConvolutionCall::Kind::kInputGradient, dx, pass.parameters + weight_, dy);
    return dx;
  }

 private:
  int filters() const { return planned_.layer.units; }
  std::size_t WeightCount() const {
    const std::size_t pixels =
        static_cast<std::size_t>(planned_.layer.kernel) * planned_.layer.kernel;
    return pixels * planned_.in.channels * filters();
  }

  /// Lays the weight in blocks, or with `back` in lines again. Gives `to`.
  float* BlockFilters(const DevicePass& pass, const float* from, float* to, bool back) const {
    pass.device->Launch(pass.stream, Grid::For(WeightCount()),
                        BlockFiltersCall{.from = from,
                                         .to = to,
                                         .kernel = planned_.layer.kernel,
                                         .block = block_,
                                         .floats = planned_.in.channels * filters(),
                                         .back = back});
    return to;
  }

  /// A call only writes the block that its kind names.
  void Convolve(const DevicePass& pass, ConvolutionCall::Kind kind, const void* input,
                const float* weight, const void* output) const {
    pass.device->Convolve(pass.stream, {.kind = kind,
                                        .images = pass.rows.rows,
                                        .height = planned_.in.height / block_,
                                        .width = planned_.in.width / block_,
                                        .channels = planned_.in.channels * block_ * block_,
                                        .filters = filters(),
                                        .kernel = planned_.layer.kernel / block_,
                                        .stride = planned_.layer.stride / block_,
                                        .padding = planned_.layer.padding,
                                        .pictures = in_.type(),
                                        .input = const_cast<void*>(input),
                                        .weight = const_cast<float*>(weight),
                                        .output = const_cast<void*>(output)});
  }

  const int block_;                  ///< of the input
  const std::size_t weight_, bias_;  ///< floats from the start of the parameters
  DeviceArray<float> filters_;       ///< with blocks: the weight in them, then its gradient
};

class DeviceMaxPool : public DeviceLayer {
 public:
  DeviceMaxPool(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room) {
    out_ = room_->Rows(out_count(), in_.type());
    winner_ = room_->Rows<std::int32_t>(out_count());
  }

  void Forward(const DevicePass& pass) override {
    const PoolGeometry pool = Geometry(pass);
    pass.device->Launch(pass.stream, PictureGrid(pool, out_count()),
                        PoolCall{.pool = pool,
                                 .input = in_.data(),
                                 .output = out_.data(),
                                 .winner = winner_.data(),
                                 .type = in_.type()});
  }
  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    if (dx == nullptr) return nullptr;
    const PoolGeometry pool = Geometry(pass);
    pass.device->Launch(pass.stream, PictureGrid(pool, in_count()),
                        PoolGradientCall{.pool = pool,
                                         .winner = winner_.data(),
                                         .d_output = dy,
                                         .d_input = dx,
                                         .type = in_.type()});
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
