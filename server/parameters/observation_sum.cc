#include "server/parameters/observation_sum.h"

#include <algorithm>

#include "server/parameters/moments.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

void SumObservations(const ParameterLayout& layout, std::span<const std::span<const float>> parts,
                     std::span<float> sum) {
  if (layout.statistics.count == 0) return;
  const auto slot = [&](const char* name) {
    return layout.Find(name).offset - layout.statistics.offset;
  };
  const std::size_t count = slot("statistics.observation.count");
  const std::size_t mean = slot("statistics.observation.mean");
  const std::size_t variance = slot("statistics.observation.variance");
  const std::size_t width = layout.Find("statistics.observation.mean").count;
  MURMURATE_CHECK(sum.size() == layout.statistics.count, "another layout's statistics");
  double total = 0.0;
  for (const auto& part : parts) total += part[count];
  for (std::size_t j = 0; j < width; ++j) {
    Moments all;
    for (const auto& part : parts)
      all.Add({part[count], part[mean + j], double{part[variance + j]} * part[count]});
    sum[mean + j] = static_cast<float>(all.mean);
    sum[variance + j] = all.count == 0.0 ? 1.0f : static_cast<float>(all.m2 / all.count);
  }
  sum[count] = static_cast<float>(std::min(total, 0x1p24));
}

}  // namespace murmurate
