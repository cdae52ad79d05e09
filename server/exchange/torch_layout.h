// TorchLayout: a model's tensors as PyTorch keeps them, and where each of their numbers lies in our
// flat block. Names are ours (parameter_layout.h), with PyTorch's for the last word:
//
//   dense        weight [units, in], bias [units]                      as torch.nn.Linear
//   conv         weight [filters, channels, kernel, kernel], bias      as torch.nn.Conv2d
//   layer_norm   weight [channels], bias [channels]                    as torch.nn.LayerNorm
//   lstm, gru    weight_ih_l0 [gates x units, in], weight_hh_l0 [gates x units, units],
//                bias_ih_l0, bias_hh_l0 [gates x units]                as torch.nn.LSTM, torch.nn.GRU
//   log deviations and statistics as they are
//
// Pictures are [channels, height, width] in PyTorch and [height, width, channels] here, so a vector
// that was flattened from a picture has its numbers in another order there: the layers that read it
// have their columns in that order. Statistics keep ours. Where PyTorch has two biases and we their
// sum, the second is 0 in what is written, and added to the first in what is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/model/parameter_layout.h"

namespace murmurate {

struct PlacedTensor {
  std::string name;
  std::vector<int> shape;
  /// Of each number, in the order of the tensor's memory: its place in our flat block.
  std::vector<std::uint32_t> places = {};
  /// The first so many numbers are added to those of the tensor before.
  std::size_t added = 0;
};

/// The tensors of all networks that are no targets, in the order of `layout`, then the statistics.
/// `layout` is that of `spec`, which has passed CheckModel.
std::vector<PlacedTensor> TorchLayout(const ModelSpec& spec, const ParameterLayout& layout);
/// The tensors of `layout` as they are.
std::vector<PlacedTensor> OwnLayout(const ParameterLayout& layout);

}  // namespace murmurate
