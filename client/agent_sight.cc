// What an agent looks at: the game's memory as one row of the observation's layout.
#include <algorithm>
#include <cstring>
#include <string>

#include "client/agent_core.h"
#include "shared/core/check.h"
#include "shared/experience/finite.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

const char* WordFor(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "floats";
    case Element::kUint8:
      return "bytes";
    case Element::kInt32:
      return "int32";
  }
  return "";
}

/// The game's program gives parts that its own space does not have.
[[noreturn]] void FailPart(const ObservationInput& input, const ObservationPart* part) {
  const std::string place = input.name.empty() ? "the observation" : "observation." + input.name;
  std::string got = "nothing";
  if (part != nullptr) {
    got = std::to_string(part->count()) + " " + WordFor(static_cast<Element>(part->element()));
  }
  const std::string message = place + " has " + std::to_string(input.elements) + " " +
                              WordFor(input.element) + " in its space, but Act was given " + got;
  MURMURATE_CHECK(false, message.c_str());
}

/// Parts usually come in the order of the space.
const ObservationPart* FindPart(std::span<const ObservationPart> parts, std::size_t likely,
                                std::string_view name) {
  if (likely < parts.size() && parts[likely].name() == name) return &parts[likely];
  const auto found = std::ranges::find(parts, name, &ObservationPart::name);
  return found == parts.end() ? nullptr : &*found;
}

bool GoodInput(const ObservationInput& input, const std::byte* row) {
  const std::byte* at = row + input.offset_bytes;
  const std::size_t count = static_cast<std::size_t>(input.elements);
  if (input.element == Element::kUint8) return true;
  if (input.element == Element::kFloat32) {
    return AllFinite({reinterpret_cast<const float*>(at), count});
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t category;
    std::memcpy(&category, at + i * sizeof category, sizeof category);
    if (category < 0 || category >= input.categories[i]) return false;
  }
  return true;
}

bool EveryVariableHasAChoice(const ActionLayout& layout, std::span<const std::uint8_t> mask) {
  for (const ActionPart& part : layout.parts()) {
    if (part.kind != ActionPart::Kind::kDiscrete) continue;
    const std::uint8_t* allowed = mask.data() + part.first_mask_byte;
    for (const int n : part.choices) {
      if (std::all_of(allowed, allowed + n, [](std::uint8_t a) { return a == 0; })) return false;
      allowed += n;
    }
  }
  return true;
}

}  // namespace

void AgentCore::Look(std::span<const float> observation, std::span<const std::uint8_t> mask) {
  if (observation.size() != numbers_) [[unlikely]] {
    const std::string message =
        numbers_ == ~std::size_t{0}
            ? std::string("this observation is not one Box of floats: give Act an Observation")
            : "an observation of " + std::to_string(observation.size()) +
                  " numbers, but the space has " + std::to_string(numbers_);
    MURMURATE_CHECK(observation.size() == numbers_, message.c_str());
  }
  sight_ = {RowsOf(observation), {}, AllFinite(observation)};
  if (!sight_.good) [[unlikely]]
    LookAway();
  if (!mask.empty()) ReadMask(mask);
}

void AgentCore::Look(const Observation& observation) {
  const std::span<const ObservationPart> parts = observation.parts();
  const std::vector<ObservationInput>& inputs = model_->observation.inputs();
  std::byte* row = reinterpret_cast<std::byte*>(row_.data());
  sight_ = {std::as_bytes(std::span<const float>(row_)), {}, true};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ObservationInput& input = inputs[i];
    const ObservationPart* part = FindPart(parts, i, input.name);
    if (part == nullptr || static_cast<Element>(part->element()) != input.element ||
        part->count() != static_cast<std::size_t>(input.elements)) {
      FailPart(input, part);
    }
    std::memcpy(row + input.offset_bytes, part->data(), input.size_bytes());
    sight_.good = sight_.good && GoodInput(input, row);
  }
  MURMURATE_CHECK(parts.size() == inputs.size(), "an observation part that the space has not");
  if (!sight_.good) LookAway();
  if (!observation.mask().empty()) ReadMask(observation.mask());
}

void AgentCore::LookAway() {
  Complain(model_->observation.Check(sight_.row.data()));
  std::ranges::fill(row_, 0.0f);
  sight_.row = std::as_bytes(std::span<const float>(row_));
}

void AgentCore::ReadMask(std::span<const std::uint8_t> mask) {
  const ActionLayout& layout = model_->head.layout();
  if (mask.size() != mask_.size()) {
    const std::string message = "a mask of " + std::to_string(mask.size()) +
                                " bytes, but the action has " + std::to_string(mask_.size()) +
                                " discrete choices";
    MURMURATE_CHECK(mask.size() == mask_.size(), message.c_str());
  }
  std::ranges::copy(mask, mask_.begin());
  if (EveryVariableHasAChoice(layout, mask_)) {
    sight_.mask = mask_;
    return;
  }
  Complain(layout.CheckMask(mask_.data()));
  sight_.good = false;
}

void AgentCore::Complain(const Status& status) {
  if (complaint_state_.load(std::memory_order_relaxed) != Complaint::kNone) return;
  complaint_ = status.message();
  complaint_state_.store(Complaint::kMade, std::memory_order_release);
}

bool AgentCore::TakeComplaint(std::string* sentence) {
  if (complaint_state_.load(std::memory_order_acquire) != Complaint::kMade) return false;
  *sentence = complaint_;
  complaint_state_.store(Complaint::kTaken, std::memory_order_relaxed);
  return true;
}

}  // namespace murmurate
