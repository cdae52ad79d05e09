// Acting: what a game pays for one step of 4-64-64-2 beside a live learner: Act with sampling and
// recording, Reward, and every 200 steps the end of an episode.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "murmurate/client.h"
#include "server/measure/live_learner.h"

namespace murmurate {

class Acting {
 public:
  /// A status where this machine has no place for the learner's address or for shared memory.
  static Result<std::unique_ptr<Acting>> Make();

  void Step();
  double flops() const;  ///< floating-point operations of the products of one Act

 private:
  Acting(std::unique_ptr<LiveLearner> learner, std::unique_ptr<Client> client,
         const Spaces& spaces);

  const std::unique_ptr<LiveLearner> learner_;
  std::unique_ptr<Client> client_;
  Agent agent_;
  std::vector<float> observations_;
  std::uint64_t step_ = 0;
};

}  // namespace murmurate
