// AgentTroubles: which steps of an agent cannot be learned from, and why. The agent's thread notes
// the first trouble of each kind in a few numbers, without a lock, an allocation or a system call.
// mmr-client makes sentences of them for the log and for the learner.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/spaces.h"
#include "shared/inference/action_head.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

class ClientModel;

enum class Trouble : std::uint8_t {
  kObservation,  ///< a number that is not finite, or a category that does not exist
  kMask,         ///< a mask that allows no choice
  kReward,       ///< a reward that is not a finite float32
  kOutputs,      ///< the policy's outputs are not finite
  kPrivileged,   ///< as kObservation, in the privileged observation
  kNoEnd,        ///< kStepsWithoutEnd steps, and the agent has never ended an episode
};

class AgentTroubles {
 public:
  static constexpr std::size_t kKinds = 6;
  /// More steps than an episode of nearly every game has.
  static constexpr std::uint32_t kStepsWithoutEnd = 10'000;

  /// The first wrong value. kObservation: the word at `offset` of the row. kMask: the variable
  /// whose `word` bytes begin at `offset`. kReward: `value`, the step's rewards so far.
  struct Detail {
    std::uint32_t offset = 0, word = 0;
    double value = 0.0;
  };

  // The agent's thread.
  bool noted(Trouble kind) const {
    return (noted_.load(std::memory_order_acquire) & Bit(kind)) != 0;
  }
  /// Keeps the detail of the first trouble of each kind; later details are ignored.
  void Note(Trouble kind, const Detail& detail);
  /// Removes the note of a trouble that is over: kNoEnd, when an episode has ended.
  void Clear(Trouble kind) {
    noted_.store(static_cast<std::uint8_t>(noted_.load(std::memory_order_relaxed) & ~Bit(kind)),
                 std::memory_order_release);
  }

  // Any other thread.
  /// The next kind that was noted and not yet taken; none: every noted kind was taken.
  std::optional<Trouble> PopNew();
  /// One sentence that says what is wrong and what to do. `kind` must have been noted.
  std::string WordsFor(Trouble kind, const ClientModel& model) const;

  /// The first wrong number of `row`; the first variable for which `mask` allows no choice.
  static Detail FindIn(const ObservationLayout& layout, const std::byte* row);
  static Detail FindIn(const ActionLayout& layout, const std::uint8_t* mask);

 private:
  static std::uint8_t Bit(Trouble kind) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
  }

  std::array<Detail, kKinds> details_;  ///< each written once, before its bit is first set
  std::uint8_t written_ = 0;            ///< the agent's thread
  std::atomic<std::uint8_t> noted_{0}, taken_{0};
};

}  // namespace murmurate
