// ObservationSources: rows of observations made into what the first layers take: bytes for a
// convolution as they lie, other bytes widened to numbers in 0..1, categories one-hot, numbers
// normalized when the model says so; inside server/network only.
#pragma once

#include <vector>

#include "server/network/network_layer.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

class ObservationSources {
 public:
  /// `plan`: of the network that reads the most inputs.
  ObservationSources(const ModelSpec& spec, const NetworkPlan& plan, LayerRoom* room);

  /// The rows of one input, in the plan's order; they stay where they are.
  const LayerRows* rows(int input) const { return &sources_[input].rows; }

  /// Begins with the rows of one Forward, which must stay until its Backward.
  void Begin(const float* parameters, const void* observations);
  /// Makes rows ready, those that do not lie ready already.
  void Prepare(int first, int count);

 private:
  enum class Form { kAsItLies, kBytesAsTheyLie, kCopied, kWidened, kOneHot, kNormalized };
  struct Source {
    ObservationInput input;  ///< stacked
    Form form = Form::kAsItLies;
    int width = 0;                ///< of the numbers it gives
    int channels = 0, stack = 1;  ///< of one frame
    int statistic = 0;            ///< kNormalized: its first number among the statistics
    LayerRows rows;
    AlignedFloats block, mean, scale;
  };

  /// `joined`: no network has this input alone.
  Form FormOf(const PlannedInput& planned, ObservationInput::Element element, bool joined) const;
  void ReadStatistics(const float* parameters, Source* source) const;
  void PrepareRow(const Source& source, const std::byte* row, float* to) const;

  std::vector<Source> sources_;
  LayerRoom* const room_;
  const bool normalizes_;
  std::size_t mean_at_ = 0, variance_at_ = 0;  ///< floats from the start of the parameters
  const std::byte* observations_ = nullptr;
  std::size_t row_bytes_ = 0;
};

}  // namespace murmurate
