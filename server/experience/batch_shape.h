// BatchShape: how many trajectories of how many steps make a batch.
#pragma once

namespace murmurate {

struct BatchShape {
  int length = 0;        ///< T: steps of a trajectory at most
  int trajectories = 0;  ///< of a batch
  int steps() const { return length * trajectories; }
  friend bool operator==(const BatchShape&, const BatchShape&) = default;
};

}  // namespace murmurate
