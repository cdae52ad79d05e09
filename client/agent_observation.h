// AgentObservation: the observation of an agent's present step as one row of its layout, what only
// the learner sees beside it, and the mask of that step. Numbers that are not finite and categories
// that do not exist become zeros, and a mask that allows nothing becomes none: such a step is not
// good, and costs the trajectory. The game's thread; no lock, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/agent_shared.h"
#include "client/observation_row.h"
#include "murmurate/observation.h"
#include "murmurate/status.h"

namespace murmurate {

class AgentObservation {
 public:
  /// `shared`: where what is wrong with an observation is noted.
  explicit AgentObservation(AgentShared& shared);

  /// One float32 box, which is read until the step is done. `call`: what the game called, for what
  /// it is told where that was a mistake (client/misuse.h).
  void Observe(std::span<const float> observation, const char* call = "Agent::Act");
  void Observe(const Observation& observation, const char* call = "Agent::Act");  ///< its parts
  /// False where Observe aborts: nothing is seen then, and CheckObservation says why.
  bool TryObserve(const Observation& observation);
  /// What only the learner sees, from the next step on; false: CheckPrivileged says why not.
  bool TryObservePrivileged(const Observation& observation);
  void SetMask(std::span<const std::uint8_t> mask,
               const char* call = "Agent::Act");  ///< empty: all
  /// False where Observe, respectively SetMask, aborts.
  bool Fits(std::span<const float> observation) const {
    return observation.size() == seen_.numbers();
  }
  bool Fits(std::span<const std::uint8_t> mask) const {
    return mask.empty() || mask.size() == mask_copy_.size();
  }
  Status CheckObservation(std::span<const float> observation) const;
  Status CheckObservation(const Observation& observation) const { return seen_.Check(observation); }
  Status CheckPrivileged(const Observation& observation) const;
  Status CheckMask(std::span<const std::uint8_t> mask) const;

  std::span<const std::byte> row() const { return seen_.row(); }
  /// Empty: there is none, or the game has not shown it yet.
  std::span<const std::byte> privileged() const {
    return privileged_ ? privileged_->row() : std::span<const std::byte>();
  }
  /// Empty: everything is allowed.
  std::span<const std::uint8_t> mask() const { return mask_; }
  /// As the game showed it: nothing had to be replaced.
  bool good() const { return seen_.good() && mask_good_ && (!privileged_ || privileged_->good()); }

 private:
  AgentShared& shared_;
  const ClientModel& model_;
  ObservationRow seen_;
  std::optional<ObservationRow> privileged_;
  std::span<const std::uint8_t> mask_;
  bool mask_good_ = true;
  std::vector<std::uint8_t> mask_copy_;  ///< of the last step's: Took comes after it
};

}  // namespace murmurate
