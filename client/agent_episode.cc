// What happens to an agent between two Acts: rewards, ends, and what the game has to say.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "client/agent_core.h"
#include "client/game_action.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Where the policy would never have done what the game did: log 1e-30, so that no ratio of
/// probabilities overflows.
constexpr float kLeastLogProbability = -69.0775528f;

std::string TextOf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

void AgentCore::Reward(double reward) {
  if (!acted_) return;
  step_reward_ += reward;
  episode_.raw_return += reward;
  if (std::abs(step_reward_) <= std::numeric_limits<float>::max()) [[likely]]
    return;
  Complain([&] {
    return InvalidData("the rewards of a step come to " + TextOf(step_reward_) +
                       ", which is not a finite float32: give Reward smaller numbers (look for a "
                       "division by zero or a logarithm of it)");
  });
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

void AgentCore::FinishEpisode(Success success) {
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

int AgentCore::choice() const {
  MURMURATE_CHECK(model_->head.layout().one_choice(),
                  "this action is not one choice: use Act(observation, &action)");
  return action_[0];
}

void AgentCore::Give(Action* action) {
  if (!HasPartsOf(model_->head.layout(), *action)) *action = Action(model_->spaces.action);
  head().ToGame(action_.data(), game_.data());
  CopyWords(game_.data(), action);
}

void AgentCore::Give(std::span<float> action) {
  MURMURATE_CHECK(model_->spaces.action.kind == Space::Kind::kBox && action.size() == game_.size(),
                  "ActContinuous: room for as many numbers as the agent's Box has");
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
  return TookWords();
}

Status AgentCore::CheckRecord(const std::int32_t* choices, const float* numbers,
                              const std::uint8_t* mask) {
  PutGame(choices, numbers);
  const ActionHead& rule = model_->head;
  rule.FromGame(game_.data(), nullptr, drawn_action_.data());
  const Status fault = rule.layout().CheckAction(drawn_action_.data(), mask);
  return fault.ok() ? fault : InvalidArgument("Record: " + fault.message());
}

void AgentCore::Took(int action) {
  MURMURATE_CHECK(model_->head.layout().one_choice(),
                  "Took: this action is not one choice: give it the Action");
  const Status status = TryTook(&action, nullptr);
  MURMURATE_CHECK(status.ok(), status.message().c_str());
}

void AgentCore::Took(const Action& action) {
  MURMURATE_CHECK(HasPartsOf(model_->head.layout(), action),
                  "Took: the Action has other parts than the agent's space");
  CopyWords(action, game_.data());
  const Status status = TookWords();
  MURMURATE_CHECK(status.ok(), status.message().c_str());
}

Status AgentCore::TookWords() {
  if (!acted_) return Status();
  std::ranges::copy(action_, drawn_action_.begin());
  head().FromGame(game_.data(), action_.data(), action_.data());
  const ActionHead::Row row = PlayedRow();
  if (const Status fault = head().layout().CheckAction(action_.data(), row.mask); !fault.ok()) {
    std::ranges::copy(drawn_action_, action_.begin());
    return InvalidArgument("Took: " + fault.message());
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
  const std::size_t size = std::min<std::size_t>(name.size(), report_names_[0].text.size());
  const int known = report_count_.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i) {
    const ReportName& held = report_names_[i];
    if (held.size == size && std::equal(name.begin(), name.begin() + size, held.given.begin())) {
      return i;
    }
  }
  if (known == kMaxReports || size == 0) return -1;
  ReportName& added = report_names_[known];
  added.size = size;
  for (std::size_t i = 0; i < size; ++i) {
    added.given[i] = name[i];
    added.text[i] = IsNameCharacter(name[i]) ? name[i] : '_';
  }
  report_count_.store(known + 1, std::memory_order_release);
  return known;
}

void AgentCore::Report(std::string_view name, double value) {
  if (!std::isfinite(value)) return;
  const int index = NameIndex(name);
  if (index < 0) return;
  episode_.reported |= 1u << index;
  episode_.reports[index] += value;
}

std::vector<std::string> AgentCore::report_names() const {
  std::vector<std::string> names;
  const int known = report_count_.load(std::memory_order_acquire);
  for (int i = 0; i < known; ++i) {
    names.emplace_back(report_names_[i].text.data(), report_names_[i].size);
  }
  return names;
}

}  // namespace murmurate
