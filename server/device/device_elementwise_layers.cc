#include "server/compute/device/calls/layer_norm.h"
#include "server/device/device_layer.h"
#include "server/device/device_sums.h"

namespace murmurate {
namespace {

class DeviceNorm : public DeviceLayer {
 public:
  DeviceNorm(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room),
        places_(in_count() / planned_.in.channels),
        gain_(room_->Offset(planned_.name + ".gain")),
        shift_(room_->Offset(planned_.name + ".shift")),
        kept_(room_->Rows(2 * places_)) {
    out_ = room_->Rows(out_count(), in_.type());
    room_->WantSums(places_, columns(), 2);
  }

  void Forward(const DevicePass& pass) override {
    pass.device->Launch(pass.stream, RowsGrid(pass),
                        NormRowsCall{.x = in_.data(),
                                     .gain = pass.parameters + gain_,
                                     .shift = pass.parameters + shift_,
                                     .y = out_.data(),
                                     .kept = kept_.data(),
                                     .rows = pass.Numbers(places_),
                                     .columns = columns(),
                                     .type = in_.type()});
  }
  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    if (pass.gradient != nullptr) ParameterGradient(pass, dy);
    if (dx == nullptr) return nullptr;
    pass.device->Launch(pass.stream, RowsGrid(pass),
                        NormRowsGradientCall{.x = in_.data(),
                                             .gain = pass.parameters + gain_,
                                             .kept = kept_.data(),
                                             .dy = dy,
                                             .rows = pass.Numbers(places_),
                                             .columns = columns(),
                                             .type = in_.type()});
    return dy;
  }

 private:
  int columns() const { return planned_.in.channels; }
  Grid RowsGrid(const DevicePass& pass) const {
    const std::size_t rows = pass.Numbers(places_);
    return {.blocks = static_cast<std::uint32_t>((rows + kNormRows - 1) / kNormRows),
            .threads = kNormThreads};
  }

  void ParameterGradient(const DevicePass& pass, const void* dy) {
    const std::size_t rows = pass.Numbers(places_),
                      stride = 2 * static_cast<std::size_t>(columns());
    double* const partials = room_->partials();
    pass.device->Launch(pass.stream, SumsGrid(rows, columns()),
                        NormRowsSumsCall{.x = in_.data(),
                                         .kept = kept_.data(),
                                         .dy = dy,
                                         .partials = partials,
                                         .rows = rows,
                                         .rows_a_part = RowsASumPart(rows, columns()),
                                         .columns = columns(),
                                         .type = in_.type()});
    FinishColumns(pass, partials, stride, rows, columns(), pass.gradient + gain_);
    FinishColumns(pass, partials + columns(), stride, rows, columns(), pass.gradient + shift_);
  }

  const std::size_t places_;        ///< of a picture; 1 for a vector
  const std::size_t gain_, shift_;  ///< floats from the start of the parameters
  const DeviceArray<float> kept_;   ///< [max_rows][places][2]
};

class DeviceActivationLayer : public DeviceLayer {
 public:
  DeviceActivationLayer(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room) {
    out_ = room_->Rows(out_count(), in_.type());
  }
  void Forward(const DevicePass& pass) override {
    const std::size_t count = pass.Numbers(out_count());
    pass.device->Launch(pass.stream, GridOver(count),
                        ActivateCall{.x = in_.data(),
                                     .y = out_.data(),
                                     .count = count,
                                     .activation = OnDevice(planned_.layer.activation),
                                     .type = in_.type()});
  }
  void* Backward(const DevicePass& pass, void* dy, void*) override {
    const std::size_t count = pass.Numbers(out_count());
    pass.device->Launch(pass.stream, GridOver(count),
                        ActivationGradientCall{.dy = dy,
                                               .y = out_.data(),
                                               .count = count,
                                               .activation = OnDevice(planned_.layer.activation),
                                               .type = in_.type()});
    return dy;
  }
};

void AddOnDevice(const DevicePass& pass, std::size_t count, ElementType type, const void* a,
                 const void* b, void* sum) {
  pass.device->Launch(pass.stream, GridOver(count),
                      AddNumbersCall{.a = a, .b = b, .sum = sum, .count = count, .type = type});
}

/// Lets its rows through; DeviceAdd adds them, and leaves the gradient that goes around.
class DeviceResidual : public DeviceLayer {
 public:
  DeviceResidual(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room) {
    out_ = in_;
    room_->WantAround(in_count(), in_.type());
  }
  void Forward(const DevicePass&) override {}
  void* Backward(const DevicePass& pass, void* dy, void*) override {
    AddOnDevice(pass, pass.Numbers(in_count()), in_.type(), room_->around(), dy, dy);
    return dy;
  }
};

class DeviceAdd : public DeviceLayer {
 public:
  DeviceAdd(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room), around_(request.open->in()) {
    out_ = room_->Rows(out_count(), in_.type());
  }
  void Forward(const DevicePass& pass) override {
    AddOnDevice(pass, pass.Numbers(in_count()), in_.type(), in_.data(), around_.data(),
                out_.data());
  }
  void* Backward(const DevicePass& pass, void* dy, void*) override {
    pass.device->CopyWithin(pass.stream, room_->around(), dy,
                            pass.Numbers(in_count()) * BytesOf(in_.type()));
    return dy;
  }

 private:
  const DeviceBlock around_;  ///< what came into the residual
};

/// Pictures of bf16 -> vectors of float32.
class DeviceFlatten : public DeviceLayer {
 public:
  DeviceFlatten(const DeviceLayerRequest& request)
      : DeviceLayer(request.planned, request.in, request.room) {
    out_ = room_->Rows(out_count());
    room_->WantGradients(out_count(), out_.type());
  }
  void Forward(const DevicePass& pass) override {
    Convert(pass, in_.data(), in_.type(), out_.data(), out_.type());
  }
  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    if (dx != nullptr) Convert(pass, dy, out_.type(), dx, in_.type());
    return dx;
  }

 private:
  void Convert(const DevicePass& pass, const void* from, ElementType from_type, void* to,
               ElementType to_type) const {
    const std::size_t count = pass.Numbers(in_count());
    pass.device->Launch(
        pass.stream, GridOver(count),
        ConvertNumbersCall{
            .from = from, .to = to, .count = count, .from_type = from_type, .to_type = to_type});
  }
};

constexpr DeviceLayerMaker kMakers[] = {
    {Layer::Kind::kFlatten, MakeOnDevice<DeviceFlatten>},
    {Layer::Kind::kLayerNorm, MakeOnDevice<DeviceNorm>},
    {Layer::Kind::kActivation, MakeOnDevice<DeviceActivationLayer>},
    {Layer::Kind::kResidual, MakeOnDevice<DeviceResidual>},
    {Layer::Kind::kAdd, MakeOnDevice<DeviceAdd>}};

}  // namespace

std::span<const DeviceLayerMaker> DeviceElementwiseLayers() { return kMakers; }

}  // namespace murmurate
