// What happens to an agent between two Acts: rewards, ends, and what the game has to say.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "client/agent_core.h"
#include "client/game_action.h"
#include "client/misuse.h"

namespace murmurate {
namespace {

/// Where the policy would never have done what the game did: log 1e-30, so that no ratio of
/// probabilities overflows.
constexpr float kLeastLogProbability = -69.0775528f;

}  // namespace

void AgentCore::Reward(double reward) {
  if (!acted_) return;
  step_reward_ += reward;
  episode_.raw_return += reward;
  if (std::abs(step_reward_) <= std::numeric_limits<float>::max()) [[likely]]
    return;
  Complain(Trouble::kReward, {.value = step_reward_});
  AgentCounts::Add(counts_.rewards_not_finite, 1);
  step_reward_ = 0.0;
  episode_.spoiled = true;
  if (recorder_.open()) DropTrajectory();
}

void AgentCore::End(EndKind kind, Success success) {
  if (!acted_) return;
  if (recorded_) {
    recorder_.Settle(step_reward_);
    if (kind == kTruncated && !sight_.good) {
      DropTrajectory();
    } else {
      recorder_.EndEpisode(kind, sight_.row);
    }
  }
  FinishEpisode(success);
  if (recorder_.open() && (recorder_.full() || recorder_.finals_used_up())) {
    playing_ = false;
    recorder_.HandOver({}, steps());
    NoteOpen();
  } else if (mode_ == PlayMode::kEvaluate) {
    recorder_.HandOverNews(steps());
  }
}

void AgentCore::NoteLongEpisode() {
  if (ended_ || mode_ != PlayMode::kTrain || !recorder_.attached()) return;
  if (model_->said_no_end.exchange(true, std::memory_order_relaxed)) return;
  Complain(Trouble::kNoEnd);
}

void AgentCore::FinishEpisode(Success success) {
  if (!ended_) troubles_.Clear(Trouble::kNoEnd);
  ended_ = true;
  if (mode_ != PlayMode::kSilent) {
    const bool evaluated = mode_ == PlayMode::kEvaluate;
    // What is left of training goes by itself: numbers of both in one block could not be told
    // apart.
    if (evaluated) recorder_.HandOverNews(steps());
    if (!episode_.spoiled) {
      recorder_.AddEpisode({.raw_return = episode_.raw_return,
                            .length = episode_.length,
                            .mode = evaluated,
                            .success = success,
                            .settings = episode_.settings});
    }
    for (int i = 0; i < kMaxReports; ++i) {
      if (episode_.reported >> i & 1) recorder_.AddReport(i, episode_.reports[i]);
    }
  }
  BeginEpisode();
}

void AgentCore::BeginEpisode() {
  episode_ = {};
  episode_.settings = model_->settings->revision();
  step_reward_ = 0.0;
  acted_ = recorded_ = false;
}

int AgentCore::choice(const char* call) const {
  MURMURATE_EXPECT(model_->head.layout().one_choice(), call,
                   "this action is not one choice: use Act(observation, &action)");
  return action_[0];
}

void AgentCore::Give(Action* action) {
  if (!HasPartsOf(model_->head.layout(), *action)) *action = Action(model_->spaces.action);
  head().ToGame(action_.data(), game_.data());
  CopyWords(game_.data(), action);
}

void AgentCore::Give(std::span<float> action) {
  MURMURATE_EXPECT(model_->spaces.action.kind == Space::Kind::kBox, "Agent::ActContinuous",
                   "this action is not one Box of numbers: use Act(observation, &action)");
  MURMURATE_EXPECT(action.size() == game_.size(), "Agent::ActContinuous",
                   "room for an action of " + std::to_string(action.size()) +
                       " numbers, but the space has " + std::to_string(game_.size()));
  head().ToGame(action_.data(), game_.data());
  std::memcpy(action.data(), game_.data(), action.size_bytes());
}

void AgentCore::Give(std::int32_t* choices, float* numbers) {
  head().ToGame(action_.data(), game_.data());
  for (const ActionPart& part : model_->head.layout().parts()) {
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

/// What the game did, as mmr_action has it, into game_.
void AgentCore::PutGame(const std::int32_t* choices, const float* numbers) {
  for (const ActionPart& part : model_->head.layout().parts()) {
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

Status AgentCore::TryTook(const std::int32_t* choices, const float* numbers) {
  PutGame(choices, numbers);
  const Status status = TookWords();
  return status.ok() ? status : InvalidArgument("Took: " + status.message());
}

Status AgentCore::CheckRecord(const std::int32_t* choices, const float* numbers,
                              const std::uint8_t* mask) {
  PutGame(choices, numbers);
  const ActionHead& rule = model_->head;
  rule.FromGame(game_.data(), nullptr, drawn_action_.data());
  const Status fault = rule.layout().CheckAction(drawn_action_.data(), mask);
  return fault.ok() ? fault : InvalidArgument("Record: " + fault.message());
}

void AgentCore::Took(int action, const char* call) {
  MURMURATE_EXPECT(model_->head.layout().one_choice(), call,
                   "this action is not one choice: give it the Action");
  PutGame(&action, nullptr);
  const Status status = TookWords();
  MURMURATE_EXPECT(status.ok(), call, status.message());
}

void AgentCore::Took(const Action& action, const char* call) {
  MURMURATE_EXPECT(HasPartsOf(model_->head.layout(), action), call,
                   "the Action has other parts than the agent's space: make it with Action(space)");
  CopyWords(action, game_.data());
  const Status status = TookWords();
  MURMURATE_EXPECT(status.ok(), call, status.message());
}

Status AgentCore::TookWords() {
  if (!acted_) return Status();
  std::ranges::copy(action_, drawn_action_.begin());
  head().FromGame(game_.data(), action_.data(), action_.data());
  const ActionHead::Row row = PlayedRow();
  if (const Status fault = head().layout().CheckAction(action_.data(), row.mask); !fault.ok()) {
    std::ranges::copy(drawn_action_, action_.begin());
    return InvalidArgument(fault.message());
  }
  ActSettings settings = settings_;
  if (!drawn_) settings.mode = ActSettings::Mode::kUniform;
  if (!recorded_) return Status();
  const float log_prob = head().LogProbability(row, settings, action_.data());
  recorder_.Replace(action_, std::max(log_prob, kLeastLogProbability));
  return Status();
}

void AgentCore::Discard() {
  if (recorded_) recorder_.ForgetEpisode();
  BeginEpisode();
}

int AgentCore::NameIndex(std::string_view name) {
  const int known = report_count_.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i) {
    if (model_->report_names.Is(report_names_[i], name)) return i;
  }
  if (known == kMaxReports) return -1;
  const int number = model_->report_names.Find(name);
  if (number < 0) return -1;
  report_names_[known] = static_cast<std::uint8_t>(number);
  report_count_.store(known + 1, std::memory_order_release);
  return known;
}

bool AgentCore::Report(std::string_view name, double value) {
  const int index = std::isfinite(value) ? NameIndex(name) : -1;
  if (index < 0) return false;
  episode_.reported |= 1u << index;
  episode_.reports[index] += value;
  return true;
}

std::vector<std::string> AgentCore::report_names() const {
  std::vector<std::string> names;
  const int known = report_count_.load(std::memory_order_acquire);
  for (int i = 0; i < known; ++i) {
    names.push_back(model_->report_names.Text(report_names_[i]));
  }
  return names;
}

}  // namespace murmurate
