// AnswerSlots: the samples of a Predictor that wait for their answers, and the answers that wait to
// be received, in the order in which they came. A sample lies in the slot of its number modulo the
// credit until its answer has been popped; the memory of a slot is kept from one to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "murmurate/predictor.h"

namespace murmurate {

class AnswerSlots {
 public:
  /// Sets how many samples may be unanswered. Nothing changes while something waits in the slots.
  void Resize(std::size_t credit);
  /// The number of the last sample; counts on over all sessions.
  std::uint64_t last_number() const { return last_number_; }
  /// True when the next sample has a slot.
  bool has_room() const;
  /// The next sample was sent: its slot is open.
  void Open(std::string_view device, const Predictor::SampleOptions& sample);
  /// The answer of that sample, to be filled in; null unless it is awaited.
  Predictor::Answer* Find(std::uint64_t number);
  /// The answer that Find gave is whole.
  void Finish(std::uint64_t number, Predictor::Outcome outcome);
  /// No awaited answer comes any more: each is Outcome::kUnanswered.
  void FinishAll();
  bool any_ready() const { return popped_ < ready_.size(); }
  /// The first answer that is ready; there must be one. Its memory goes to the slot.
  void Pop(Predictor::Answer* answer);
  /// Samples whose answer is awaited or not yet popped.
  std::size_t in_flight() const { return open_ + ready_.size() - popped_; }

 private:
  enum class SlotState : std::uint8_t { kFree, kOpen, kReady };
  struct Slot {
    SlotState state = SlotState::kFree;
    std::uint64_t number = 0;
    Predictor::Answer answer;
  };
  void Finish(Slot& slot, Predictor::Outcome outcome);

  std::uint64_t last_number_ = 0;
  std::vector<Slot> slots_;         ///< [credit]
  std::size_t open_ = 0;            ///< slots that wait for their answer
  std::vector<std::size_t> ready_;  ///< slots in the order of their answers
  std::size_t popped_ = 0;          ///< of ready_, its first ones
};

}  // namespace murmurate
