#include "server/network/recurrent_layer.h"

#include <algorithm>

#include "server/compute/gru_sequence.h"
#include "server/compute/lstm_sequence.h"

namespace murmurate {
namespace {

class LstmLayer : public RecurrentLayer {
 public:
  LstmLayer(const PlannedLayer& planned, const LayerRows* in, int offset, int floats,
            LayerRoom* room)
      : RecurrentLayer(planned, in, 2, offset, floats, room) {
    kept_ = AlignedFloats(LstmKeptFloats(room->max_rows, 1, hidden_));
    room->WantScratch(LstmBackwardScratchFloats(room->max_rows, inputs_, hidden_));
  }

  void Forward(const float* parameters) override {
    const Sequences& s = room_->sequences;
    LstmForward({.steps = s.steps,
                 .rows = s.count,
                 .inputs = inputs_,
                 .hidden = hidden_,
                 .x = in_->data,
                 .first = First(),
                 .state0 = GatherState(),
                 .input_weight = parameters + input_weight_,
                 .hidden_weight = parameters + hidden_weight_,
                 .bias = parameters + bias_,
                 .output = output_.data(),
                 .state = state(),
                 .kept = LstmKeptIn(s.steps, s.count, hidden_, kept_.data())},
                *room_->kernels.forward);
    ScatterState();
  }

  void Backward(const float* parameters, float* gradient) override {
    const Sequences& s = room_->sequences;
    LstmBackward({.steps = s.steps,
                  .rows = s.count,
                  .inputs = inputs_,
                  .hidden = hidden_,
                  .x = in_->data,
                  .first = First(),
                  .input_weight = parameters + input_weight_,
                  .hidden_weight = parameters + hidden_weight_,
                  .kept = LstmKeptIn(s.steps, s.count, hidden_, kept_.data()),
                  .d_output = d_output(0),
                  .d_x = d_input(0),
                  .d_input_weight = gradient + input_weight_,
                  .d_hidden_weight = gradient + hidden_weight_,
                  .d_bias = gradient + bias_,
                  .scratch = room_->scratch.data()},
                 room_->kernels);
  }
};

class GruLayer : public RecurrentLayer {
 public:
  GruLayer(const PlannedLayer& planned, const LayerRows* in, int offset, int floats,
           LayerRoom* room)
      : RecurrentLayer(planned, in, 1, offset, floats, room),
        hidden_bias_(room->layout.Find(planned.name + ".hidden_bias").offset) {
    kept_ = AlignedFloats(GruKeptFloats(room->max_rows, 1, hidden_));
    room->WantScratch(GruBackwardScratchFloats(room->max_rows, inputs_, hidden_));
  }

  void Forward(const float* parameters) override {
    const Sequences& s = room_->sequences;
    GruForward({.steps = s.steps,
                .rows = s.count,
                .inputs = inputs_,
                .hidden = hidden_,
                .x = in_->data,
                .first = First(),
                .state0 = GatherState(),
                .input_weight = parameters + input_weight_,
                .hidden_weight = parameters + hidden_weight_,
                .bias = parameters + bias_,
                .hidden_bias = parameters + hidden_bias_,
                .output = output_.data(),
                .state = state(),
                .kept = GruKeptIn(s.steps, s.count, hidden_, kept_.data())},
               *room_->kernels.forward);
    ScatterState();
  }

  void Backward(const float* parameters, float* gradient) override {
    const Sequences& s = room_->sequences;
    GruBackward({.steps = s.steps,
                 .rows = s.count,
                 .inputs = inputs_,
                 .hidden = hidden_,
                 .x = in_->data,
                 .first = First(),
                 .input_weight = parameters + input_weight_,
                 .hidden_weight = parameters + hidden_weight_,
                 .kept = GruKeptIn(s.steps, s.count, hidden_, kept_.data()),
                 .d_output = d_output(0),
                 .d_x = d_input(0),
                 .d_input_weight = gradient + input_weight_,
                 .d_hidden_weight = gradient + hidden_weight_,
                 .d_bias = gradient + bias_,
                 .d_hidden_bias = gradient + hidden_bias_,
                 .scratch = room_->scratch.data()},
                room_->kernels);
  }

 private:
  const std::size_t hidden_bias_;
};

}  // namespace

RecurrentLayer::RecurrentLayer(const PlannedLayer& planned, const LayerRows* in, int parts,
                               int state_offset, int state_floats, LayerRoom* room)
    : inputs_(planned.in.channels),
      hidden_(planned.layer.units),
      in_(in),
      room_(room),
      input_weight_(room->layout.Find(planned.name + ".input_weight").offset),
      hidden_weight_(room->layout.Find(planned.name + ".hidden_weight").offset),
      bias_(room->layout.Find(planned.name + ".bias").offset),
      width_(parts * hidden_),
      state_offset_(state_offset),
      state_floats_(state_floats),
      flops_(3 * planned.flops()),
      nowhere_(room->max_rows) {
  const std::size_t rows = room->max_rows;
  output_ = AlignedFloats(rows * hidden_);
  d_output_ = AlignedFloats(rows * hidden_);
  d_input_ = AlignedFloats(rows * inputs_);
  state_in_ = AlignedFloats(rows * width_);
  state_out_ = AlignedFloats(rows * width_);
  out_ = {output_.data(), nullptr, hidden_};
}

const std::uint8_t* RecurrentLayer::First() const {
  return room_->sequences.first != nullptr ? room_->sequences.first : nowhere_.data();
}

const float* RecurrentLayer::GatherState() {
  const Sequences& s = room_->sequences;
  if (s.state0 == nullptr) return nullptr;
  for (std::ptrdiff_t i = 0; i < s.count; ++i)
    std::copy_n(s.state0 + i * state_floats_ + state_offset_, width_,
                state_in_.data() + i * width_);
  return state_in_.data();
}

void RecurrentLayer::ScatterState() {
  const Sequences& s = room_->sequences;
  if (s.state_out == nullptr) return;
  for (std::ptrdiff_t i = 0; i < s.count; ++i)
    std::copy_n(state_out_.data() + i * width_, width_,
                s.state_out + i * state_floats_ + state_offset_);
}

std::unique_ptr<RecurrentLayer> MakeRecurrentLayer(const PlannedLayer& planned, const LayerRows* in,
                                                   int state_offset, int state_floats,
                                                   LayerRoom* room) {
  if (planned.layer.kind == Layer::Kind::kLstm)
    return std::make_unique<LstmLayer>(planned, in, state_offset, state_floats, room);
  return std::make_unique<GruLayer>(planned, in, state_offset, state_floats, room);
}

}  // namespace murmurate
