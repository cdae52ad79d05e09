#include "client/answer_slots.h"

#include <utility>

namespace murmurate {
namespace {

/// Clears what an answer may say, but keeps its memory.
void Clear(Predictor::Answer* answer) {
  answer->reason.clear();
  answer->sentence.clear();
  answer->row = answer->version = 0;
  answer->time_ns = 0;
  answer->alarm = Predictor::Alarm::kUnchanged;
  answer->due_ns.clear();
  answer->values.clear();
  answer->quantiles.clear();
}

}  // namespace

void AnswerSlots::Resize(std::size_t credit) {
  if (slots_.size() == credit || in_flight() > 0) return;
  slots_.clear();
  slots_.resize(credit);
}

bool AnswerSlots::has_room() const {
  return !slots_.empty() && slots_[(last_number_ + 1) % slots_.size()].state == SlotState::kFree;
}

void AnswerSlots::Open(std::string_view device, const Predictor::SampleOptions& sample) {
  Slot& slot = slots_[++last_number_ % slots_.size()];
  slot.state = SlotState::kOpen;
  slot.number = last_number_;
  slot.answer.device = device;
  slot.answer.id = sample.id;
  slot.answer.sequence = sample.sequence;
  Clear(&slot.answer);
  ++open_;
}

Predictor::Answer* AnswerSlots::Find(std::uint64_t number) {
  if (slots_.empty()) return nullptr;
  Slot& slot = slots_[number % slots_.size()];
  return slot.state == SlotState::kOpen && slot.number == number ? &slot.answer : nullptr;
}

void AnswerSlots::Finish(std::uint64_t number, Predictor::Outcome outcome) {
  Finish(slots_[number % slots_.size()], outcome);
}

void AnswerSlots::Finish(Slot& slot, Predictor::Outcome outcome) {
  slot.state = SlotState::kReady;
  slot.answer.outcome = outcome;
  --open_;
  ready_.push_back(static_cast<std::size_t>(&slot - slots_.data()));
}

void AnswerSlots::FinishAll() {
  for (Slot& slot : slots_)
    if (slot.state == SlotState::kOpen) Finish(slot, Predictor::Outcome::kUnanswered);
}

void AnswerSlots::Pop(Predictor::Answer* answer) {
  Slot& slot = slots_[ready_[popped_++]];
  std::swap(*answer, slot.answer);
  slot.state = SlotState::kFree;
  if (any_ready() && popped_ < slots_.size()) return;
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(popped_));
  popped_ = 0;
}

}  // namespace murmurate
