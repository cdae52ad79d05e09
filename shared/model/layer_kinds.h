// LayerForm: what is true of every layer of a kind, one row a kind: its words, what it does to a
// shape, its tensors. The text of a model, its plan, the layout of its parameters, their first
// values, a client's packing and the learner's network read this table. What a layer computes: for
// a client in shared/inference/policy_steps.cc, for the learner by a class and a LayerMaker in
// server/network/{elementwise,window}_layers.cc, and on a device by those of server/device. The
// words are a line of a model's text and an entry of a config's list of layers:
//
//   dense 64 tanh          y = activation(x W + b) on a vector
//   conv 32 8 4 0 relu     filters, kernel, stride, padding, activation; on a picture, NHWC
//   max_pool 3 2 1         kernel, stride, padding
//   flatten                picture -> vector
//   layer_norm             over the last axis, with gain and shift
//   relu                   an activation by itself: none tanh relu elu sigmoid
//   residual ... add       what came into `residual` is added to what comes to `add`
//   lstm 128, gru 128      a state that goes from step to step; in the trunk only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace murmurate {

enum class LayerKind : std::uint8_t {
  kDense,
  kConv,
  kMaxPool,
  kFlatten,
  kLayerNorm,
  kActivation,
  kResidual,
  kAdd,
  kLstm,
  kGru,
};

/// FirstValue is how a tensor begins.
enum class FirstValue : std::uint8_t {
  kZeros,
  kOnes,
  kWeight,      ///< random, as the config says
  kGates,       ///< random: an orthogonal matrix for each gate
  kForgetBias,  ///< zeros, and for the second gate what the config says: 1 when it says nothing
  kUpdateBias,  ///< the same with 0
};

/// Packing is how a client packs a tensor for its kernels.
enum class Packing : std::uint8_t {
  kAsItIs,
  kProduct,  ///< by its size: what multiplies rows
  kPanels,   ///< shared/compute/packed_weight.h
};

/// One side of a tensor in the terms of its layer. kGates: the units of all gates.
enum class TensorSide : std::uint8_t { kNone, kKernel, kChannels, kUnits, kGates };

struct LayerTensor {
  const char* name = nullptr;  ///< behind the layer's name and a dot; null: there is none
  std::array<TensorSide, 4> shape = {};
  FirstValue first = FirstValue::kZeros;
  Packing packing = Packing::kAsItIs;
};

struct LayerForm {
  enum class Block : std::uint8_t { kNone, kOpens, kCloses };

  LayerKind kind;
  const char* name;   ///< its first word; empty: the word is the activation
  const char* words;  ///< all of them, for a sentence
  /// These words follow the name, in this order. Units alone: it takes a vector and gives `units`
  /// numbers. A window alone keeps the channels, one with units has a filter for each.
  bool units = false, window = false, activation = false;
  bool flattens = false;
  bool takes_rows_apart = false;  ///< rows may lie anywhere; others want them contiguous
  bool takes_bytes = false;
  Block block = Block::kNone;  ///< a residual block begins or ends here
  int gates = 0;               ///< of a recurrent layer
  int state_parts = 0;         ///< blocks of `units` numbers that an agent carries
  int flops_each = 0;          ///< for each number that comes; by its tensors when it has units
  std::array<LayerTensor, 4> tensors = {};  ///< in the order of the parameters
};

constexpr LayerForm kLayerForms[] = {
    {.kind = LayerKind::kDense,
     .name = "dense",
     .words = "dense UNITS ACTIVATION",
     .units = true,
     .activation = true,
     .takes_rows_apart = true,
     .tensors = {{{"weight",
                   {TensorSide::kChannels, TensorSide::kUnits},
                   FirstValue::kWeight,
                   Packing::kProduct},
                  {"bias", {TensorSide::kUnits}}}}},
    {.kind = LayerKind::kConv,
     .name = "conv",
     .words = "conv FILTERS KERNEL STRIDE PADDING ACTIVATION",
     .units = true,
     .window = true,
     .activation = true,
     .takes_rows_apart = true,
     .takes_bytes = true,
     .tensors = {{{"weight",
                   {TensorSide::kKernel, TensorSide::kKernel, TensorSide::kChannels,
                    TensorSide::kUnits},
                   FirstValue::kWeight},
                  {"bias", {TensorSide::kUnits}}}}},
    {.kind = LayerKind::kMaxPool,
     .name = "max_pool",
     .words = "max_pool KERNEL STRIDE PADDING",
     .window = true},
    {.kind = LayerKind::kFlatten, .name = "flatten", .words = "flatten", .flattens = true},
    {.kind = LayerKind::kLayerNorm,
     .name = "layer_norm",
     .words = "layer_norm",
     .flops_each = 7,
     .tensors = {{{"gain", {TensorSide::kChannels}, FirstValue::kOnes},
                  {"shift", {TensorSide::kChannels}}}}},
    {.kind = LayerKind::kActivation, .name = "", .words = "ACTIVATION", .flops_each = 1},
    {.kind = LayerKind::kResidual,
     .name = "residual",
     .words = "residual",
     .block = LayerForm::Block::kOpens},
    {.kind = LayerKind::kAdd,
     .name = "add",
     .words = "add",
     .block = LayerForm::Block::kCloses,
     .flops_each = 1},
    {.kind = LayerKind::kLstm,
     .name = "lstm",
     .words = "lstm UNITS",
     .units = true,
     .gates = 4,
     .state_parts = 2,
     .tensors = {{{"input_weight",
                   {TensorSide::kChannels, TensorSide::kGates},
                   FirstValue::kGates,
                   Packing::kPanels},
                  {"hidden_weight",
                   {TensorSide::kUnits, TensorSide::kGates},
                   FirstValue::kGates,
                   Packing::kPanels},
                  {"bias", {TensorSide::kGates}, FirstValue::kForgetBias}}}},
    {.kind = LayerKind::kGru,
     .name = "gru",
     .words = "gru UNITS",
     .units = true,
     .gates = 3,
     .state_parts = 1,
     .tensors = {{{"input_weight",
                   {TensorSide::kChannels, TensorSide::kGates},
                   FirstValue::kGates,
                   Packing::kPanels},
                  {"hidden_weight",
                   {TensorSide::kUnits, TensorSide::kGates},
                   FirstValue::kGates,
                   Packing::kPanels},
                  {"bias", {TensorSide::kGates}, FirstValue::kUpdateBias},
                  {"hidden_bias", {TensorSide::kUnits}}}}},
};

constexpr const LayerForm& FormOf(LayerKind kind) {
  return kLayerForms[static_cast<std::size_t>(kind)];
}
static_assert(
    [] {
      std::size_t next = 0;
      for (const LayerForm& form : kLayerForms)
        if (static_cast<std::size_t>(form.kind) != next++) return false;
      return true;
    }(),
    "a row for each kind, in their order");

}  // namespace murmurate
