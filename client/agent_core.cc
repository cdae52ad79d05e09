#include "client/agent_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kStepsBetweenClocks = 16;

bool AllFinite(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  }
  return largest < 0x7f800000u;
}

}  // namespace

AgentCore::AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number, int default_action,
                     int rows)
    : model_(std::move(model)),
      number_(number),
      default_action_(default_action),
      rows_(rows),
      observation_count_(static_cast<std::size_t>(model_->spaces.observation.element_count())),
      action_count_(model_->spaces.action.n),
      recorder_(model_.get(), &counts_),
      random_(RandomIdentity()) {
  model_->pins->Add(&pin_);
}

AgentCore::~AgentCore() {
  if (!closed()) Close();
}

void AgentCore::Close() {
  if (recorder_.open()) {
    if (recorded_) recorder_.Settle(step_reward_);
    if (recorder_.steps() == 0) {
      recorder_.Drop();
    } else {
      recorder_.HandOverUnfinished(steps());
    }
  }
  recorder_.HandOverNews(steps());
  model_->pins->Remove(&pin_);
  closed_.store(true, std::memory_order_release);
  model_->bell->roster_changed.store(true, std::memory_order_release);
  model_->bell->wake.Set();
}

void AgentCore::Fit(std::unique_ptr<AgentGear> gear) {
  std::lock_guard lock(gears_mutex_);
  gears_.push_back(std::move(gear));
  gear_.store(gears_.back().get(), std::memory_order_release);
}

std::vector<std::shared_ptr<TrajectoryRing>> AgentCore::rings() const {
  std::lock_guard lock(gears_mutex_);
  std::vector<std::shared_ptr<TrajectoryRing>> rings;
  for (const auto& gear : gears_) {
    if (gear->ring != nullptr) rings.push_back(gear->ring);
  }
  return rings;
}

void AgentCore::ChangeGear(AgentGear* gear) {
  fitted_ = gear;
  recorder_.Attach(gear->ring.get(), gear->episodes);
  if (gear->reseed) random_ = Random(gear->seed);
  playing_ = recorded_ = drawn_ = false;
  hold_ = {};
}

void AgentCore::CheckSize(std::span<const float> observation) const {
  if (observation.size() == observation_count_) [[likely]]
    return;
  const std::string message = "an observation of " + std::to_string(observation.size()) +
                              " numbers, but the space has " + std::to_string(observation_count_);
  MURMURATE_CHECK(observation.size() == observation_count_, message.c_str());
}

int AgentCore::Act(std::span<const float> observation) {
  CheckSize(observation);
  Settle(observation);
  do {
    Ensure();
  } while (!Pin(observation));
  const float* logits = nullptr;
  if (hold_.buffer != nullptr) {
    hold_.buffer->policy.Logits(observation.data(), 1, fitted_->logits.data(),
                                fitted_->scratch.data());
    PolicySet::Unpin(&pin_);
    logits = fitted_->logits.data();
  }
  const ActionChoice choice = Choose(logits);
  Record(observation, choice);
  return choice.action;
}

void AgentCore::Settle(std::span<const float> observation) {
  AgentGear* gear = gear_.load(std::memory_order_acquire);
  if (gear != fitted_) [[unlikely]]
    ChangeGear(gear);
  finite_ = AllFinite(observation);
  if (recorder_.open()) {
    if (recorded_) recorder_.Settle(step_reward_);
    if (!finite_) {
      DropTrajectory();
    } else if (recorder_.full() || (!acted_ && mode_ != next_mode_) || WeightsAppeared() ||
               Aged()) {
      Leave(observation);
    }
  }
  step_reward_ = 0.0;
}

/// Ends the open trajectory before the step that sees `observation`.
void AgentCore::Leave(std::span<const float> observation) {
  if (recorder_.steps() == 0) return DropTrajectory();
  playing_ = recorded_ = false;
  recorder_.HandOver(RowsOf(observation), steps());
}

void AgentCore::DropTrajectory() {
  playing_ = recorded_ = false;
  recorder_.Drop();
}

bool AgentCore::WeightsAppeared() const {
  return hold_.buffer == nullptr && fitted_->policies != nullptr && !fitted_->policies->empty();
}

bool AgentCore::Aged() {
  if (model_->pace == Pace::kLockstep || --steps_until_clock_ > 0) return false;
  steps_until_clock_ = kStepsBetweenClocks;
  return MonotonicNs() - begun_ns_ >= model_->max_trajectory_ns.load(std::memory_order_relaxed);
}

/// Something to play with, open for recording if it is to be recorded. An evaluation episode stays
/// with the version it began under while that lasts.
void AgentCore::Ensure() {
  if (playing_ && recorder_.open()) [[likely]]
    return;
  if (playing_ && acted_ && mode_ != PlayMode::kTrain && hold_.buffer != nullptr) return;
  if (!acted_) mode_ = next_mode_;
  Begin(Wait());
}

bool AgentCore::WantsToRecord() const {
  if (mode_ != PlayMode::kTrain || !finite_ || !recorder_.attached()) return false;
  return model_->without_policy != WithoutPolicy::kDefault || !fitted_->policies->empty();
}

/// The only wait of a game's thread: never for kNever with kRandom or kDefault. True: recorded.
bool AgentCore::Wait() {
  bool record = false;
  model_->WaitFor([&](bool timed_out) {
    AgentGear* gear = gear_.load(std::memory_order_acquire);
    if (gear != fitted_) ChangeGear(gear);
    record = WantsToRecord();
    return MayBegin(record) || (timed_out && StuckInOneThread(record));
  });
  return record;
}

/// Nothing moves, and another agent of this client holds a finished trajectory: it may be waiting
/// for its turn in this very thread, and the learner for what it holds. Then play on, ahead of
/// credit.
bool AgentCore::StuckInOneThread(bool record) {
  if (!record || model_->pace != Pace::kCredit || model_->finished.load() == 0) return false;
  if (fitted_->policies->empty() && model_->without_policy == WithoutPolicy::kWait) return false;
  model_->started.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

bool AgentCore::MayBegin(bool record) {
  const bool closed = model_->bell->closed.load(std::memory_order_acquire);
  const bool weights = fitted_ != nullptr && fitted_->policies && !fitted_->policies->empty();
  if (model_->without_policy == WithoutPolicy::kWait && !weights && !closed &&
      !model_->given_up.load(std::memory_order_acquire)) {
    return false;
  }
  if (!record || recorder_.open()) return true;
  if (model_->pace == Pace::kNever || closed || !model_->live.load(std::memory_order_acquire)) {
    model_->started.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
  if (model_->pace == Pace::kLockstep &&
      fitted_->policies->version() < model_->at_version.load(std::memory_order_acquire)) {
    return false;
  }
  // With every block on its way, the sender is behind: wait for it rather than drop.
  return fitted_->ring->HasFree() && model_->Reserve(fitted_->ring->layout().length);
}

/// Chooses the newest version (Pin pins it again for each step) and opens a block.
void AgentCore::Begin(bool record) {
  hold_ = {};
  settings_ = {};
  VersionStamp stamp;
  if (fitted_ != nullptr && fitted_->policies && fitted_->policies->PinLatest(&pin_, &hold_)) {
    // A policy from a file is nobody's version.
    if (hold_.buffer->stamp.incarnation != 0) stamp = hold_.buffer->stamp;
    settings_ = hold_.buffer->act;
    PolicySet::Unpin(&pin_);
  }
  pin_.playing.store(hold_.buffer, std::memory_order_relaxed);
  if (mode_ != PlayMode::kTrain) settings_.mode = ActSettings::Mode::kGreedy;
  playing_ = true;
  if (recorder_.open()) return recorder_.Restamp(stamp);
  if (!record || !recorder_.Start(stamp, steps())) return;
  begun_ns_ = MonotonicNs();
  steps_until_clock_ = kStepsBetweenClocks;
}

/// False when the buffer was taken for a newer version: what was recorded under it leaves, short.
bool AgentCore::Pin(std::span<const float> observation) {
  if (hold_.buffer == nullptr || PolicySet::Pin(&pin_, hold_)) [[likely]]
    return true;
  playing_ = false;
  if (recorder_.open() && recorder_.steps() > 0) Leave(observation);
  return false;
}

ActionChoice AgentCore::Choose(const float* logits) {
  drawn_ = false;
  if (logits == nullptr) {
    if (model_->without_policy == WithoutPolicy::kDefault) return {default_action_, 0.0f};
    return ChooseUniform(action_count_, random_);
  }
  const std::span<const float> row{logits, static_cast<std::size_t>(action_count_)};
  if (!AllFinite(row)) return ChooseUniform(action_count_, random_);
  drawn_ = true;
  return ChooseAction(row, settings_, random_);
}

void AgentCore::Record(std::span<const float> observation, const ActionChoice& choice) {
  recorded_ = recorder_.open();
  if (recorded_) {
    recorder_.Record(RowsOf(observation), {&choice.action, 1}, choice.log_prob, !acted_);
  }
  if (mode_ == PlayMode::kTrain) {
    AgentCounts::Add(counts_.steps, 1);
    if (!recorded_) AgentCounts::Add(counts_.steps_dropped, 1);
  } else {
    AgentCounts::Add(counts_.evaluation_steps, 1);
  }
  acted_ = true;
  ++episode_.length;
}

}  // namespace murmurate
