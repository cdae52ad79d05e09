// Curve: points of a learning curve in the order of their steps, thinned when there are too many.
#pragma once

#include <cstdint>
#include <vector>

namespace murmurate {

struct CurvePoint {
  std::uint64_t steps = 0;
  double mean_return = 0;
};

class Curve {
 public:
  void Add(const CurvePoint& point);
  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  std::vector<CurvePoint> points_;
  std::uint64_t stride_ = 1;  ///< least steps between two points
};

}  // namespace murmurate
