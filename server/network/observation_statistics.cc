#include <algorithm>
#include <vector>

#include "server/network/actor_critic.h"
#include "shared/core/check.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

/// Beyond it a square may be no float any more: a game's "nothing there" must not make the variance
/// infinite for good.
constexpr float kMost = 1e18f;

/// The float32 inputs of the rows that count.
class NumberRows {
 public:
  NumberRows(const ModelSpec& spec, const void* observations, std::span<const float> weights)
      : layout_(spec.row_space()),
        observations_(static_cast<const std::byte*>(observations)),
        weights_(weights) {}

  /// visit(j, x) for each number of each row, j from 0 to normalized_count - 1.
  template <typename Visit>
  void Each(Visit visit) const {
    for (std::size_t row = 0; row < weights_.size(); ++row) {
      if (!(weights_[row] > 0)) continue;
      std::size_t j = 0;
      for (const ObservationInput& input : layout_.inputs()) {
        if (input.element != ObservationInput::Element::kFloat32) continue;
        const auto* const x = reinterpret_cast<const float*>(
            observations_ + row * layout_.row_bytes() + input.offset_bytes);
        for (int i = 0; i < input.elements; ++i) visit(j++, std::clamp(x[i], -kMost, kMost));
      }
    }
  }

 private:
  const ObservationLayout layout_;
  const std::byte* const observations_;
  const std::span<const float> weights_;
};

}  // namespace

void UpdateObservationStatistics(const ModelSpec& spec, const void* observations,
                                 std::span<const float> weights, std::span<float> parameters) {
  const std::size_t size = spec.normalized_count();
  const auto rows = static_cast<double>(
      std::count_if(weights.begin(), weights.end(), [](float weight) { return weight > 0; }));
  if (size == 0 || rows == 0) return;
  const ParameterLayout layout(spec);
  MURMURATE_CHECK(parameters.size() == layout.total, "another layout's parameters");
  float& count = parameters[layout.Find("statistics.observation.count").offset];
  float* const mean = parameters.data() + layout.Find("statistics.observation.mean").offset;
  float* const variance = parameters.data() + layout.Find("statistics.observation.variance").offset;
  const NumberRows numbers(spec, observations, weights);
  std::vector<double> sum(size), squares(size);
  numbers.Each([&](std::size_t j, float x) { sum[j] += x; });
  numbers.Each([&](std::size_t j, float x) {
    const double d = x - sum[j] / rows;
    squares[j] += d * d;
  });
  const double before = count, total = before + rows;
  for (std::size_t j = 0; j < size; ++j) {
    const double delta = sum[j] / rows - mean[j];
    const double m2 = variance[j] * before + squares[j] + delta * delta * before * rows / total;
    mean[j] = static_cast<float>(mean[j] + delta * rows / total);
    variance[j] = static_cast<float>(m2 / total);
  }
  count = static_cast<float>(std::min(total, 0x1p24));
}

}  // namespace murmurate
