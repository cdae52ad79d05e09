// Curve: points of a learning curve in the order of their steps, thinned when there are too many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/state.h"

namespace murmurate {

struct CurvePoint {
  std::uint64_t steps = 0;
  double mean_return = 0;
};

class Curve {
 public:
  void Add(const CurvePoint& point);
  const std::vector<CurvePoint>& points() const { return points_; }

  /// Saves the points as NAME_returns and NAME_steps.
  void Save(const std::string& name, const StateWriter& writer) const;
  Status Load(const std::string& name, const StateReader& reader);

 private:
  std::vector<CurvePoint> points_;
  std::uint64_t stride_ = 1;  ///< least steps between two points
};

}  // namespace murmurate
