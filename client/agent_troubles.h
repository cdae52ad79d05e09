// AgentTroubles: what of an agent's play cannot be learned from, and why. The agent's thread notes
// the first of each kind in a few numbers: no lock, no allocation, no system call. mmr-client puts
// them into words, for the log and for the learner.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/spaces.h"
#include "shared/model/observation_layout.h"
#include "shared/network/action_head.h"

namespace murmurate {

class ClientModel;

enum class Trouble : std::uint8_t {
  kObservation,  ///< a number that is not finite, or a category that does not exist
  kMask,         ///< one that allows no choice
  kReward,       ///< no finite float32
  kOutputs,      ///< the policy's, which overflowed
  kNoEnd,        ///< kStepsWithoutEnd steps, and the agent has never ended an episode
};

class AgentTroubles {
 public:
  static constexpr std::size_t kKinds = 5;
  /// Longer than an episode of nearly every game.
  static constexpr std::uint32_t kStepsWithoutEnd = 10'000;

  /// Of kObservation: the word at `offset` of the row; of kMask: the variable whose `word` bytes
  /// begin at `offset`; of kReward: `value`, the step's rewards so far.
  struct Detail {
    std::uint32_t offset = 0, word = 0;
    double value = 0.0;
  };

  // The agent's thread.
  bool noted(Trouble kind) const {
    return (noted_.load(std::memory_order_acquire) & Bit(kind)) != 0;
  }
  /// Of each kind the first one counts.
  void Note(Trouble kind, const Detail& detail);
  /// It was none after all.
  void Clear(Trouble kind) {
    noted_.store(static_cast<std::uint8_t>(noted_.load(std::memory_order_relaxed) & ~Bit(kind)),
                 std::memory_order_release);
  }

  // Any other thread.
  /// The next kind that was noted and not yet taken.
  std::optional<Trouble> Take();
  /// In one sentence, with what to do. `kind` is noted.
  std::string WordsFor(Trouble kind, const ClientModel& model) const;

  /// Where `row`, which is not good, is wrong first; where `mask`, which allows nothing, does.
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
