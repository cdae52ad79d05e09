#include "server/operate/curve.h"

#include <algorithm>
#include <cstddef>

namespace murmurate {
namespace {

constexpr std::size_t kMaxCurvePoints = 4096;

}  // namespace

void Curve::Add(const CurvePoint& point) {
  if (!points_.empty() && point.steps < points_.back().steps + stride_) return;
  points_.push_back(point);
  if (points_.size() < kMaxCurvePoints) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  stride_ = std::max<std::uint64_t>(1, (points_.back().steps - points_.front().steps) / kept);
}

}  // namespace murmurate
