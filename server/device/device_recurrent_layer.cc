#include "server/compute/device/calls/recurrent.h"
#include "server/device/device_layer.h"
#include "server/device/device_sums.h"
#include "shared/compute/recurrent.h"

namespace murmurate {
namespace {

/// What both cells have in common: all products, the states that steps begin with, the order of the
/// steps. A cell has the arithmetic of one step.
class DeviceRecurrent : public DeviceLayer {
 public:
  DeviceRecurrent(const DeviceLayerRequest& request, const RecurrentCell& cell)
      : DeviceLayer(request.planned, request.in, request.room),
        cell_(cell),
        state_floats_(request.state_floats),
        input_weight_(room_->Offset(planned_.name + ".input_weight")),
        hidden_weight_(room_->Offset(planned_.name + ".hidden_weight")),
        bias_(room_->Offset(planned_.name + ".bias")),
        gates_(room_->Rows(static_cast<std::size_t>(columns()))),
        hidden_before_(room_->Rows(out_count())) {
    out_ = room_->Rows(out_count());
    room_->WantProducts();
    room_->WantCarried(2 * out_count());
    room_->WantSums(1, columns());
  }

  void Forward(const DevicePass& pass) override {
    pass.device->Multiply(pass.stream, {.rows = pass.rows.rows,
                                        .columns = columns(),
                                        .depth = inputs(),
                                        .a = in_.floats().data(),
                                        .a_stride = inputs(),
                                        .b = pass.parameters + input_weight_,
                                        .b_stride = columns(),
                                        .c = gates_.data(),
                                        .c_stride = columns()});
    Start(pass);
    for (int step = 0; step < pass.rows.steps; ++step) {
      HiddenProduct(pass, step);
      Step(pass, step);
    }
    if (pass.rows.state_out != nullptr) End(pass);
  }

  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    for (int step = pass.rows.steps; step-- > 0;) {
      StepBack(pass, step, static_cast<float*>(dy) + At(pass, step, hidden()));
      if (step > 0) HiddenProductBack(pass, step);
    }
    WeightGradient(pass, in_.floats().data(), inputs(), gates_.data(),
                   pass.gradient + input_weight_);
    WeightGradient(pass, hidden_before_.data(), hidden(), hidden_sums(),
                   pass.gradient + hidden_weight_);
    SumColumns(pass, *room_, {.dy = gates_.data(), .rows = pass.Numbers(1), .columns = columns()},
               pass.gradient + bias_);
    if (dx != nullptr) InputGradient(pass, static_cast<float*>(dx));
    return dx;
  }

 protected:
  int inputs() const { return planned_.in.channels; }
  int hidden() const { return planned_.layer.units; }
  int columns() const { return cell_.gates * hidden(); }
  /// The first number of a step in [steps][lanes][width].
  static std::ptrdiff_t At(const DevicePass& pass, int step, int width) {
    return std::ptrdiff_t{step} * pass.rows.lanes * width;
  }
  Grid StepGrid(const DevicePass& pass) const {
    return GridOver(static_cast<std::size_t>(pass.rows.lanes) * hidden());
  }
  static const std::uint8_t* First(const DevicePass& pass, int step) {
    return pass.rows.first == nullptr ? nullptr : pass.rows.first + At(pass, step, 1);
  }
  NextState Next(const DevicePass& pass, int step) const {
    if (step + 1 == pass.rows.steps) return {nullptr, nullptr, nullptr};
    const std::ptrdiff_t at = At(pass, step + 1, hidden());
    return {First(pass, step + 1), hidden_before_.data() + at,
            cell_before() == nullptr ? nullptr : cell_before() + at};
  }
  static HandedBack After(const DevicePass& pass, int step) {
    const bool none = step + 1 == pass.rows.steps;
    return {none, none ? nullptr : First(pass, step + 1)};
  }
  float* d_hidden() const { return room_->carried(); }
  float* d_cell(const DevicePass& pass) const { return d_hidden() + At(pass, 1, hidden()); }

  virtual float* cell_before() const { return nullptr; }
  /// c after each step; null: the cell has none.
  virtual const float* cell() const { return nullptr; }
  /// [rows][columns]: where products with h go, and later their gradients are.
  virtual float* hidden_sums() const { return gates_.data(); }
  virtual void Step(const DevicePass& pass, int step) = 0;
  virtual void StepBack(const DevicePass& pass, int step, const float* d_output) = 0;

  const RecurrentCell cell_;
  const int state_floats_;
  const std::size_t input_weight_, hidden_weight_, bias_;  ///< floats from the parameters' start
  const DeviceArray<float> gates_;                         ///< [rows][columns]
  const DeviceArray<float> hidden_before_;  ///< [rows][hidden]: h that each step begins with

 private:
  void Start(const DevicePass& pass) {
    const float* const state = pass.rows.state0;
    pass.device->Launch(
        pass.stream, StepGrid(pass),
        RecurrentStartCall{.lanes = pass.rows.lanes,
                           .hidden = hidden(),
                           .state0 = state == nullptr ? nullptr : state + planned_.state,
                           .state_stride = static_cast<std::size_t>(state_floats_),
                           .first = First(pass, 0),
                           .hidden_before = hidden_before_.data(),
                           .cell_before = cell_before()});
  }
  void End(const DevicePass& pass) {
    const std::ptrdiff_t last = At(pass, pass.rows.steps - 1, hidden());
    pass.device->Launch(pass.stream, StepGrid(pass),
                        RecurrentEndCall{.lanes = pass.rows.lanes,
                                         .hidden = hidden(),
                                         .output = out_.floats().data() + last,
                                         .cell = cell() == nullptr ? nullptr : cell() + last,
                                         .state_out = pass.rows.state_out + planned_.state,
                                         .state_stride = static_cast<std::size_t>(state_floats_)});
  }
  void HiddenProduct(const DevicePass& pass, int step) {
    pass.device->Multiply(pass.stream, {.rows = pass.rows.lanes,
                                        .columns = columns(),
                                        .depth = hidden(),
                                        .a = hidden_before_.data() + At(pass, step, hidden()),
                                        .a_stride = hidden(),
                                        .b = pass.parameters + hidden_weight_,
                                        .b_stride = columns(),
                                        .c = hidden_sums() + At(pass, step, columns()),
                                        .c_stride = columns(),
                                        .accumulate = !cell_.candidate});
  }
  /// d_hidden of the step before: with a candidate added to what passed by.
  void HiddenProductBack(const DevicePass& pass, int step) {
    pass.device->Multiply(pass.stream, {.rows = pass.rows.lanes,
                                        .columns = hidden(),
                                        .depth = columns(),
                                        .a = hidden_sums() + At(pass, step, columns()),
                                        .a_stride = columns(),
                                        .b = pass.parameters + hidden_weight_,
                                        .b_stride = columns(),
                                        .b_transposed = true,
                                        .c = d_hidden(),
                                        .c_stride = hidden(),
                                        .accumulate = cell_.candidate});
  }
  /// d_weight <- x^T d_sums over all steps at once.
  void WeightGradient(const DevicePass& pass, const float* x, int depth, const float* d_sums,
                      float* d_weight) const {
    pass.device->Multiply(pass.stream, {.rows = depth,
                                        .columns = columns(),
                                        .depth = pass.rows.rows,
                                        .a = x,
                                        .a_stride = depth,
                                        .a_transposed = true,
                                        .b = d_sums,
                                        .b_stride = columns(),
                                        .c = d_weight,
                                        .c_stride = columns()});
  }
  void InputGradient(const DevicePass& pass, float* dx) const {
    pass.device->Multiply(pass.stream, {.rows = pass.rows.rows,
                                        .columns = inputs(),
                                        .depth = columns(),
                                        .a = gates_.data(),
                                        .a_stride = columns(),
                                        .b = pass.parameters + input_weight_,
                                        .b_stride = columns(),
                                        .b_transposed = true,
                                        .c = dx,
                                        .c_stride = inputs()});
  }
};

class DeviceLstm : public DeviceRecurrent {
 public:
  DeviceLstm(const DeviceLayerRequest& request)
      : DeviceRecurrent(request, kLstmCell),
        cell_after_(room_->Rows(out_count())),
        cell_before_(room_->Rows(out_count())),
        cell_tanh_(room_->Rows(out_count())) {}

 private:
  float* cell_before() const override { return cell_before_.data(); }
  const float* cell() const override { return cell_after_.data(); }

  void Step(const DevicePass& pass, int step) override {
    const std::ptrdiff_t at = At(pass, step, hidden());
    pass.device->Launch(pass.stream, StepGrid(pass),
                        LstmStepCall{.lanes = pass.rows.lanes,
                                     .hidden = hidden(),
                                     .bias = pass.parameters + bias_,
                                     .gates = gates_.data() + At(pass, step, columns()),
                                     .before = cell_before_.data() + at,
                                     .cell = cell_after_.data() + at,
                                     .cell_tanh = cell_tanh_.data() + at,
                                     .output = out_.floats().data() + at,
                                     .next = Next(pass, step)});
  }
  void StepBack(const DevicePass& pass, int step, const float* d_output) override {
    const std::ptrdiff_t at = At(pass, step, hidden());
    pass.device->Launch(pass.stream, StepGrid(pass),
                        LstmStepBackCall{.lanes = pass.rows.lanes,
                                         .hidden = hidden(),
                                         .gates = gates_.data() + At(pass, step, columns()),
                                         .before = cell_before_.data() + at,
                                         .cell_tanh = cell_tanh_.data() + at,
                                         .d_output = d_output,
                                         .after = After(pass, step),
                                         .d_hidden = d_hidden(),
                                         .d_cell = d_cell(pass)});
  }

  const DeviceArray<float> cell_after_, cell_before_, cell_tanh_;  ///< [rows][hidden]
};

class DeviceGru : public DeviceRecurrent {
 public:
  DeviceGru(const DeviceLayerRequest& request)
      : DeviceRecurrent(request, kGruCell),
        hidden_bias_(room_->Offset(planned_.name + ".hidden_bias")),
        candidate_(room_->Rows(static_cast<std::size_t>(columns()))) {
    room_->WantSums(1, hidden());
  }

  void* Backward(const DevicePass& pass, void* dy, void* dx) override {
    void* const result = DeviceRecurrent::Backward(pass, dy, dx);
    SumColumns(pass, *room_,
               {.dy = candidate_.data() + 2 * hidden(),
                .rows = pass.Numbers(1),
                .columns = hidden(),
                .stride = static_cast<std::size_t>(columns())},
               pass.gradient + hidden_bias_);
    return result;
  }

 private:
  float* hidden_sums() const override { return candidate_.data(); }

  void Step(const DevicePass& pass, int step) override {
    const std::ptrdiff_t at = At(pass, step, hidden()), gates = At(pass, step, columns());
    pass.device->Launch(pass.stream, StepGrid(pass),
                        GruStepCall{.lanes = pass.rows.lanes,
                                    .hidden = hidden(),
                                    .bias = pass.parameters + bias_,
                                    .hidden_bias = pass.parameters + hidden_bias_,
                                    .gates = gates_.data() + gates,
                                    .candidate = candidate_.data() + gates,
                                    .before = hidden_before_.data() + at,
                                    .output = out_.floats().data() + at,
                                    .next = Next(pass, step)});
  }
  void StepBack(const DevicePass& pass, int step, const float* d_output) override {
    const std::ptrdiff_t gates = At(pass, step, columns());
    pass.device->Launch(pass.stream, StepGrid(pass),
                        GruStepBackCall{.lanes = pass.rows.lanes,
                                        .hidden = hidden(),
                                        .gates = gates_.data() + gates,
                                        .candidate = candidate_.data() + gates,
                                        .before = hidden_before_.data() + At(pass, step, hidden()),
                                        .d_output = d_output,
                                        .after = After(pass, step),
                                        .d_hidden = d_hidden()});
  }

  const std::size_t hidden_bias_;
  const DeviceArray<float> candidate_;  ///< [rows][columns]: h hidden_weight
};

constexpr DeviceLayerMaker kMakers[] = {{Layer::Kind::kLstm, MakeOnDevice<DeviceLstm>},
                                        {Layer::Kind::kGru, MakeOnDevice<DeviceGru>}};

}  // namespace

std::span<const DeviceLayerMaker> DeviceRecurrentLayers() { return kMakers; }

}  // namespace murmurate
