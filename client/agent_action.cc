#include "client/agent_action.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "client/game_action.h"
#include "client/misuse.h"

namespace murmurate {
namespace {

/// Where the policy would never have done what the game did: log 1e-30, so that no ratio of
/// probabilities overflows.
constexpr float kLeastLogProbability = -69.0775528f;

}  // namespace

AgentAction::AgentAction(const ClientModel& model, const Action& default_action)
    : model_(model),
      head_(&model.head),
      default_action_(
          WordsOf(default_action.empty() ? Action(model.spaces.action) : default_action)),
      random_(RandomIdentity()),
      pink_(model.head.layout().has_numbers() ? model.head.layout().words() : 0),
      words_(static_cast<std::size_t>(model.head.layout().words())),
      game_(words_.size()),
      drawn_words_(words_.size()) {}

int AgentAction::choice(const char* call) const {
  MURMURATE_EXPECT(model_.head.layout().one_choice(), call,
                   "this action is not one choice: use Act(observation, &action)");
  return words_[0];
}

void AgentAction::ReadAction(Action* action) {
  if (!HasPartsOf(model_.head.layout(), *action)) *action = Action(model_.spaces.action);
  head_->ToGame(words_.data(), game_.data());
  CopyWords(game_.data(), action);
}

void AgentAction::ReadAction(std::span<float> action) {
  MURMURATE_EXPECT(model_.spaces.action.kind == Space::Kind::kBox, "Agent::ActContinuous",
                   "this action is not one Box of numbers: use Act(observation, &action)");
  MURMURATE_EXPECT(action.size() == game_.size(), "Agent::ActContinuous",
                   "room for an action of " + std::to_string(action.size()) +
                       " numbers, but the space has " + std::to_string(game_.size()));
  head_->ToGame(words_.data(), game_.data());
  std::memcpy(action.data(), game_.data(), action.size_bytes());
}

void AgentAction::ReadAction(std::int32_t* choices, float* numbers) {
  head_->ToGame(words_.data(), game_.data());
  for (const ActionPart& part : model_.head.layout().parts()) {
    const std::size_t count = static_cast<std::size_t>(part.count);
    const std::int32_t* words = game_.data() + part.first_word;
    if (part.kind == ActionPart::Kind::kContinuous) {
      std::memcpy(numbers, words, count * sizeof(float));
      numbers += count;
    } else {
      choices = std::copy_n(words, count, choices);
    }
  }
}

void AgentAction::PutDone(const std::int32_t* choices, const float* numbers) {
  for (const ActionPart& part : model_.head.layout().parts()) {
    const std::size_t count = static_cast<std::size_t>(part.count);
    std::int32_t* words = game_.data() + part.first_word;
    if (part.kind == ActionPart::Kind::kContinuous) {
      std::memcpy(words, numbers, count * sizeof(float));
      numbers += count;
    } else {
      std::copy_n(choices, count, words);
      choices += count;
    }
  }
}

Status AgentAction::CheckRecord(const std::int32_t* choices, const float* numbers,
                                const std::uint8_t* mask) {
  PutDone(choices, numbers);
  const ActionHead& rule = model_.head;
  rule.FromGame(game_.data(), nullptr, drawn_words_.data());
  const Status fault = rule.layout().CheckAction(drawn_words_.data(), mask);
  return fault.ok() ? fault : InvalidArgument("Record: " + fault.message());
}

void AgentAction::Give(const std::int32_t* choices, const float* numbers) {
  PutDone(choices, numbers);
  head_->FromGame(game_.data(), nullptr, words_.data());
  log_prob_ = 0.0f;
}

void AgentAction::PutDone(int choice, const char* call) {
  MURMURATE_EXPECT(model_.head.layout().one_choice(), call,
                   "this action is not one choice: give it the Action");
  PutDone(&choice, nullptr);
}

void AgentAction::PutDone(const Action& action, const char* call) {
  MURMURATE_EXPECT(HasPartsOf(model_.head.layout(), action), call,
                   "the Action has other parts than the agent's space: make it with Action(space)");
  CopyWords(action, game_.data());
}

Status AgentAction::Replace(const std::uint8_t* mask) {
  std::ranges::copy(words_, drawn_words_.begin());
  head_->FromGame(game_.data(), words_.data(), words_.data());
  const Status fault = head_->layout().CheckAction(words_.data(), mask);
  if (fault.ok()) return fault;
  std::ranges::copy(drawn_words_, words_.begin());
  return InvalidArgument(fault.message());
}

Status AgentAction::CheckLogProbability(float log_prob) const {
  if (std::isfinite(log_prob) && (model_.head.layout().has_numbers() || log_prob <= 0.0f))
    return {};
  return InvalidArgument(
      "a log-probability of " + std::to_string(log_prob) + " where " +
      (std::isfinite(log_prob)
           ? "at most 0 was expected, because an action of choices has a probability of at most 1"
           : "a finite number was expected"));
}

float AgentAction::Recorded(float log_prob) const {
  return std::max(static_cast<float>(log_prob + head_->LogUnit()), kLeastLogProbability);
}

float AgentAction::LogProbability(const ActionHead::Row& row, ActSettings settings) const {
  if (row.outputs == nullptr) settings.mode = ActSettings::Mode::kUniform;
  return std::max(head_->LogProbability(row, settings, words_.data()), kLeastLogProbability);
}

}  // namespace murmurate
