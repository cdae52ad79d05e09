#include "server/network/recurrent_layer.h"

#include <algorithm>

namespace murmurate {

RecurrentLayer::RecurrentLayer(const PlannedLayer& planned, const LayerRows* in, int state_floats,
                               LayerRoom* room)
    : cell_(CellOf(planned.layer.kind)),
      inputs_(planned.in.channels),
      hidden_(planned.layer.units),
      in_(in),
      room_(room),
      input_weight_(room->layout.Find(planned.name + ".input_weight").offset),
      hidden_weight_(room->layout.Find(planned.name + ".hidden_weight").offset),
      bias_(room->layout.Find(planned.name + ".bias").offset),
      hidden_bias_(cell_.candidate ? room->layout.Find(planned.name + ".hidden_bias").offset
                                   : bias_),
      width_(cell_.state_parts * hidden_),
      state_offset_(planned.state),
      state_floats_(state_floats),
      flops_(3 * planned.flops()),
      nowhere_(room->max_rows) {
  const std::size_t rows = room->max_rows;
  output_ = AlignedFloats(rows * hidden_);
  d_output_ = AlignedFloats(rows * hidden_);
  d_input_ = AlignedFloats(rows * inputs_);
  state_in_ = AlignedFloats(rows * width_);
  state_out_ = AlignedFloats(rows * width_);
  kept_ = AlignedFloats(RecurrentKeptFloats(cell_, room->max_rows, 1, hidden_));
  room->WantScratch(RecurrentBackwardScratchFloats(cell_, room->max_rows, inputs_, hidden_));
  out_ = {output_.data(), nullptr, hidden_};
}

void RecurrentLayer::Forward(const float* parameters) {
  const Sequences& s = room_->sequences;
  RecurrentForward(cell_,
                   {.steps = s.steps,
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
                    .state = s.state_out == nullptr ? nullptr : state_out_.data(),
                    .kept = Kept()},
                   *room_->kernels.forward);
  ScatterState();
}

void RecurrentLayer::Backward(const float* parameters, float* gradient) {
  const Sequences& s = room_->sequences;
  RecurrentBackward(cell_,
                    {.steps = s.steps,
                     .rows = s.count,
                     .inputs = inputs_,
                     .hidden = hidden_,
                     .x = in_->data,
                     .first = First(),
                     .input_weight = parameters + input_weight_,
                     .hidden_weight = parameters + hidden_weight_,
                     .kept = Kept(),
                     .d_output = d_output(0),
                     .d_x = d_input(0),
                     .d_input_weight = gradient + input_weight_,
                     .d_hidden_weight = gradient + hidden_weight_,
                     .d_bias = gradient + bias_,
                     .d_hidden_bias = gradient + hidden_bias_,
                     .scratch = room_->scratch.data()},
                    room_->kernels);
}

const std::uint8_t* RecurrentLayer::First() const {
  return room_->sequences.first != nullptr ? room_->sequences.first : nowhere_.data();
}

RecurrentKept RecurrentLayer::Kept() {
  return RecurrentKeptIn(cell_, room_->sequences.steps, room_->sequences.count, hidden_,
                         kept_.data());
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

}  // namespace murmurate
