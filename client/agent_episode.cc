// What happens to an agent between two Acts: rewards, ends, and what the game has to say.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "client/agent_core.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

bool Finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
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
  step_reward_ = 0.0;
  episode_.spoiled = true;
  if (recorder_.open()) DropTrajectory();
}

void AgentCore::End(EndKind kind, std::span<const float> final_observation) {
  if (kind == kTruncated) CheckSize(final_observation);
  if (!acted_) return;
  if (recorded_) {
    recorder_.Settle(step_reward_);
    if (kind == kTruncated && !Finite(final_observation)) {
      DropTrajectory();
    } else {
      recorder_.EndEpisode(kind, RowsOf(final_observation));
    }
  }
  FinishEpisode();
  if (recorder_.open() && (recorder_.full() || recorder_.finals_used_up())) {
    playing_ = false;
    recorder_.HandOver({}, steps());
  } else if (mode_ == PlayMode::kEvaluate) {
    recorder_.HandOverNews(steps());
  }
}

void AgentCore::FinishEpisode() {
  if (mode_ != PlayMode::kSilent) {
    if (!episode_.spoiled) {
      recorder_.AddEpisode({episode_.raw_return, episode_.length, mode_ == PlayMode::kEvaluate});
    }
    for (int i = 0; i < kMaxReports; ++i) {
      if (episode_.reported >> i & 1) recorder_.AddReport(i, episode_.reports[i]);
    }
  }
  episode_ = {};
  step_reward_ = 0.0;
  acted_ = recorded_ = false;
}

void AgentCore::Took(int action) {
  MURMURATE_CHECK(action >= 0 && action < action_count_, "Took: the space has no such action");
  const std::int32_t word = action;
  if (recorded_) recorder_.Replace({&word, 1}, LogProbability(action));
}

/// Of the distribution the last action was drawn from; floored where it would be minus infinity.
float AgentCore::LogProbability(int action) const {
  constexpr double kLeast = 1e-30;
  const int n = action_count_;
  if (!drawn_ || settings_.mode == ActSettings::Mode::kUniform) {
    return -std::log(static_cast<float>(n));
  }
  const float* logits = fitted_->logits.data();
  const float* best = std::max_element(logits, logits + n);
  if (settings_.mode == ActSettings::Mode::kEpsilon) {
    const double shared = settings_.epsilon / n;
    const double p = best - logits == action ? 1.0 - settings_.epsilon + shared : shared;
    return static_cast<float>(std::log(std::max(p, kLeast)));
  }
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    sum += std::exp((double{logits[i]} - *best) / settings_.temperature);
  }
  return static_cast<float>((double{logits[action]} - *best) / settings_.temperature -
                            std::log(sum));
}

void AgentCore::Discard() {
  if (recorded_) recorder_.ForgetEpisode();
  episode_ = {};
  step_reward_ = 0.0;
  acted_ = recorded_ = false;
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
