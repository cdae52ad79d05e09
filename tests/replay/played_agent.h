// PlayedAgent: the life of one agent, step by step, and the trajectories that it sends of it: what
// a replay gives is compared with the life itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// `width` numbers to see, four frames of them stacked, two choices with a mask, a state of two
/// numbers.
inline ModelSpec PlayedSpec(int width) {
  auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation.x float32 " + std::to_string(width) +
      "\naction discrete 2\ninput x stack 4\nflatten\ntrunk\ngru 2\nseparate_value 0\n"
      "normalize_observation 0\n");
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  return *std::move(spec);
}
inline TrajectoryLayout PlayedLayout(int length, int width = 2) {
  return TrajectoryLayout(PlayedSpec(width), length);
}

struct PlayedStep {
  float seen = 0, reward = 0, final = 0;  ///< an observation is {seen, -seen, 0, ...}
  std::uint8_t flags = 0;
  int chain = 0;  ///< another number after steps that were never sent
  bool begins_chunk = false;
};

struct PlayedTrajectory {
  TrajectoryView view;
  std::vector<float> observation, next, finals, frames0, log_prob, reward, state0;
  std::vector<std::int32_t> action;
  std::vector<std::uint8_t> flags, mask;

  const TrajectoryView& View() {
    view.observation = RowsOf(observation);
    view.next_observation = RowsOf(next);
    view.final_observation = RowsOf(finals);
    view.frames0 = RowsOf(frames0);
    view.log_prob = log_prob;
    view.reward = reward;
    view.state0 = state0;
    view.action = action;
    view.flags = flags;
    view.mask = mask;
    view.steps = static_cast<int>(flags.size());
    return view;
  }
};

class PlayedAgent {
 public:
  explicit PlayedAgent(std::uint32_t agent, int width = 2)
      : agent_(agent), width_(static_cast<std::size_t>(width)) {}

  /// Plays and sends a step for each character: '.' goes on, 'x' terminates, 't' truncates the
  /// episode.
  PlayedTrajectory Play(std::string_view steps) {
    PlayedTrajectory sent;
    sent.view.agent = agent_;
    sent.view.first_step = life_.size();
    sent.view.version = 1 + life_.size();
    const std::size_t first = life_.size();
    for (int age = 3; age >= 1; --age) Append(Before(first, age), &sent.frames0);
    sent.state0 = {StateAt(first), -StateAt(first)};
    for (const char step : steps) Step(step);
    life_[first].begins_chunk = true;
    for (std::size_t i = first; i < life_.size(); ++i) Send(i, &sent);
    Append((life_.back().flags & kEnd) != 0 ? 0.0f : SeenAt(life_.size()), &sent.next);
    return sent;
  }
  /// Plays without sending.
  void Lose(std::string_view steps) {
    ++chain_;
    for (const char step : steps) Step(step);
    ++chain_;
  }
  /// The episode is given up, as it is.
  void GiveUp() {
    begins_ = true;
    ++chain_;
  }

  const std::vector<PlayedStep>& life() const { return life_; }
  std::uint32_t agent() const { return agent_; }

  float SeenAt(std::size_t step) const {
    return 1000.0f * static_cast<float>(agent_) + static_cast<float>(step) + 1.0f;
  }
  /// Whether the second choice is allowed.
  static std::uint8_t MaskAt(std::size_t step) { return step % 2 == 1 || step % 3 == 0; }
  static float StateAt(std::size_t step) { return 0.5f + static_cast<float>(step); }
  /// What was seen so many steps before one, in its episode; else 0.
  float Before(std::size_t step, int age) const {
    bool first = step == life_.size() ? begins_ : (life_[step].flags & kFirst) != 0;
    for (; age > 0; --age, --step) {
      if (first || step == 0) return 0.0f;
      first = (life_[step - 1].flags & kFirst) != 0;
    }
    return life_[step].seen;
  }

  static constexpr std::uint8_t kEnd = kTerminatedFlag | kTruncatedFlag;

 private:
  void Append(float seen, std::vector<float>* rows) const {
    rows->resize(rows->size() + width_);
    rows->end()[-static_cast<std::ptrdiff_t>(width_)] = seen;
    rows->end()[1 - static_cast<std::ptrdiff_t>(width_)] = -seen;
  }
  void Step(char kind) {
    const std::size_t step = life_.size();
    PlayedStep& played = life_.emplace_back();
    played = {.seen = SeenAt(step), .reward = 0.25f * SeenAt(step), .chain = chain_};
    if (begins_) played.flags |= kFirst;
    if (kind == 'x') played.flags |= kTerminatedFlag;
    if (kind == 't') {
      played.flags |= kTruncatedFlag;
      played.final = 100'000.0f + played.seen;
    }
    begins_ = kind != '.';
  }
  void Send(std::size_t step, PlayedTrajectory* sent) const {
    const PlayedStep& played = life_[step];
    Append(played.seen, &sent->observation);
    if ((played.flags & kTruncatedFlag) != 0) Append(played.final, &sent->finals);
    sent->action.push_back(static_cast<int>(step % 2));
    sent->log_prob.push_back(-0.001f * static_cast<float>(step));
    sent->reward.push_back(played.reward);
    sent->flags.push_back(played.flags);
    sent->mask.insert(sent->mask.end(), {std::uint8_t{1}, MaskAt(step)});
  }

  const std::uint32_t agent_;
  const std::size_t width_;
  std::vector<PlayedStep> life_;
  bool begins_ = true;
  int chain_ = 0;
};

}  // namespace murmurate
