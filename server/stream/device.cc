#include "server/stream/device.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace murmurate {

void StreamDevice::CopyWindow(std::uint64_t last, float* to) {
  for (int i = 0; i < shape.window; ++i, to += shape.inputs) {
    const auto back = static_cast<std::uint64_t>(shape.window - 1 - i);
    if (back > last) {
      std::fill_n(to, shape.inputs, 0.0f);
    } else {
      std::ranges::copy(Row(last - back), to);
    }
  }
}

double StreamDevice::Seasonal(std::uint64_t row, int i) {
  const int horizon = shape.ahead[static_cast<std::size_t>(i % shape.horizons)];
  const auto seasons = static_cast<std::uint64_t>((horizon + shape.season - 1) / shape.season);
  const std::uint64_t back = seasons * static_cast<std::uint64_t>(shape.season) - horizon;
  return back <= row ? Target(row - back, i / shape.horizons)
                     : std::numeric_limits<double>::quiet_NaN();
}

double StreamDevice::Last(std::uint64_t row, int target) {
  if (shape.naive_depth > 0) return RowNaive(row, target);
  // Slots of the ring behind its oldest row hold newer ones.
  const std::uint64_t age = rows > row ? rows - 1 - row : 0;
  const auto kept = std::min(row, static_cast<std::uint64_t>(shape.target_depth - 1) - age);
  for (std::uint64_t back = 0; back < kept; ++back)
    if (std::isfinite(Target(row - back, target))) return Target(row - back, target);
  return Target(row - kept, target);
}

float StreamDevice::TypicalError(int i) const {
  const float squared = block[shape[Part::kScale].offset + static_cast<std::size_t>(i)];
  return squared > 0 ? std::sqrt(squared) : 1.0f;
}

void StreamDevice::Break() {
  rows = 0;
  open.Clear();
  missing = {};
  std::fill(block.get() + shape[Part::kHead].offset, block.get() + shape.floats, 0.0f);
}

}  // namespace murmurate
