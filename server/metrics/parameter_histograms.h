// ParameterHistograms: how the numbers of a model's tensors are spread, of its newest checkpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/metrics/histogram.h"

namespace murmurate {

class ParameterHistograms {
 public:
  static constexpr std::size_t kMostTensors = 64;  ///< the first of the model's
  static constexpr int kBuckets = 30;              ///< equally wide, from the least to the largest

  /// `folder`: the model's, in which checkpoints/latest is.
  explicit ParameterHistograms(const std::string& folder)
      : latest_(folder + "/checkpoints/latest") {}

  /// By the tensors' names ("policy.0.weight"); empty when there is no newer checkpoint than in the
  /// last call, or it cannot be read. Reads the whole file.
  std::vector<std::pair<std::string, Histogram>> ReadNew();

 private:
  const std::string latest_;
  std::string read_;  ///< the checkpoint that the link named then
};

}  // namespace murmurate
