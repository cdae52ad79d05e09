#include "server/device/processor_rate.h"

#include <algorithm>
#include <vector>

#include "server/compute/gemm.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/clock.h"
#include "shared/inference/policy.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

double MeasureProcessorRate() {
  constexpr int kSize = 256;
  constexpr std::int64_t kSeriesNs = kNanosecondsPerMillisecond;
  AlignedFloats a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
  const GemmCall call{.rows = kSize,
                      .columns = kSize,
                      .depth = kSize,
                      .a = a.data(),
                      .a_row_stride = kSize,
                      .b = b.data(),
                      .b_row_stride = kSize,
                      .c = c.data(),
                      .c_row_stride = kSize};
  double best = 0;
  for (int series = 0; series < 5; ++series) {
    const std::int64_t start_ns = MonotonicNs();
    std::int64_t end_ns = start_ns;
    double products = 0;
    for (; end_ns - start_ns < kSeriesNs; ++products, end_ns = MonotonicNs()) Gemm(call);
    best = std::max(best, 1e9 * products / static_cast<double>(end_ns - start_ns));
  }
  return best * 2.0 * kSize * kSize * kSize;
}

/// The median of up to 31 short series, as many as 100 ms hold.
double MeasureAct(const ModelSpec& spec) {
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  std::ranges::fill(parameters, 0.01f);
  Policy policy(spec);
  policy.Pack({parameters.data(), layout.published.count},
              {parameters.data() + layout.statistics.offset, layout.statistics.count});
  const ObservationLayout observation(StackedObservation(spec));
  const AlignedFloats row(observation.row_bytes() / sizeof(float));
  AlignedFloats scratch(policy.ScratchFloats(1)), states(policy.state_floats());
  std::vector<float> outputs(static_cast<std::size_t>(policy.outputs()));
  std::vector<double> times;
  const std::int64_t begin = MonotonicNs();
  while (times.empty() ||
         (times.size() < 31 && MonotonicNs() - begin < 100 * kNanosecondsPerMillisecond)) {
    const std::int64_t start = MonotonicNs();
    int calls = 0;
    for (; calls < 1 || MonotonicNs() - start < kNanosecondsPerMillisecond; ++calls) {
      policy.Forward(row.data(), 1, outputs.data(), scratch.data(), states.data());
    }
    times.push_back(static_cast<double>(MonotonicNs() - start) / calls * 1e-9);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace murmurate
