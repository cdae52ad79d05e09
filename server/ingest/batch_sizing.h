// BatchSizing: what shape a model's batches have while so many agents play it.
//
// Every agent has a trajectory of its own under way, so N agents play up to N x T steps before the
// first of them arrives, and versions pass meanwhile: with batches of B steps play is about
// N x T / B versions late. So with many agents trajectories become shorter, down to least_length,
// then batches larger, until one holds half of what is under way, and where memory allows no larger
// ones, trajectories half as long again. With few slow ones a batch would take minutes: it becomes
// smaller, down to least_steps.
//
// Batches that grow by and by would make clients begin anew each time, so the shape follows more
// agents only when their number has not changed for a moment, and fewer or slower ones only when
// they have been so for long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/experience/batch_shape.h"

namespace murmurate {

struct BatchSizing {
  bool length_free = false;  ///< T may be less than configured
  bool steps_free = false;   ///< B may differ from what is configured
  int least_length = 8;
  int least_steps = 256;
  int most_steps = 0;  ///< that memory allows
  bool free() const { return length_free || steps_free; }
};

/// The shape for `agents` agents that take `steps_per_s` steps together (0: not known). T is what
/// is configured, halved as often as it takes, and B doubled or halved.
BatchShape ShapeFor(const BatchShape& configured, const BatchSizing& sizing, int agents,
                    double steps_per_s);

/// BatchFit follows the agents of one model. One thread; the clock is the caller's.
class BatchFit {
 public:
  BatchFit(const BatchShape& configured, const BatchSizing& sizing)
      : configured_(configured), sizing_(sizing), shape_(configured) {}

  /// Looks at the live agents and the steps that all agents have taken so far: the new shape, when
  /// it changes now. At most one in 0.5 s; at once for the first agents.
  std::optional<BatchShape> Follow(int agents, std::uint64_t steps, std::int64_t now_ns);
  const BatchShape& shape() const { return shape_; }
  /// Why it has the shape that Follow gave last: "1,000 agents play".
  const std::string& reason() const { return reason_; }

 private:
  void MeasureSpeed(int agents, std::uint64_t steps, std::int64_t now_ns);
  bool Lasts(const BatchShape& wanted, bool first, std::int64_t now_ns);

  const BatchShape configured_;
  const BatchSizing sizing_;
  BatchShape shape_, wanted_;
  int agents_ = -1;
  bool seen_ = false;  ///< any agent
  std::int64_t agents_since_ns_ = 0;
  std::int64_t wanted_since_ns_ = 0;
  std::int64_t measured_since_ns_ = -1;  ///< the speed; -1: nothing is measured
  std::uint64_t steps_before_ = 0;
  double steps_per_s_ = 0;
  std::string reason_;
};

}  // namespace murmurate
