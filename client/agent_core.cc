#include "client/agent_core.h"

#include <algorithm>
#include <utility>

#include "client/game_action.h"
#include "shared/core/clock.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr int kStepsBetweenClocks = 16;

}  // namespace

AgentCore::AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number,
                     const Action& default_action, int rows)
    : model_(std::move(model)),
      number_(number),
      rows_(rows),
      numbers_(NumbersOfPlain(model_->observation)),
      default_action_(
          WordsOf(default_action.empty() ? Action(model_->spaces.action) : default_action)),
      recorder_(model_.get(), &counts_),
      random_(RandomIdentity()),
      row_(model_->observation.row_bytes() / sizeof(float)),
      mask_(static_cast<std::size_t>(model_->head.layout().mask_bytes())),
      action_(static_cast<std::size_t>(model_->head.layout().words())),
      game_(action_.size()),
      drawn_action_(action_.size()) {
  model_->pins->Add(&pin_);
  BeginEpisode();
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
  recorder_.Finish();
  NoteOpen();
  model_->pins->Remove(&pin_);
  // guard: Client.AgentsThatCloseAreHandedOverAndLeaveTheSession,
  //   Client.AgentsThatComeAndGoInHasteAreAllHeard (1 to 5 of 5): an agent reports that it is
  //   closed after its last hand-over
  closed_.store(true, std::memory_order_release);
  model_->bell->roster_changed.store(true, std::memory_order_release);
  model_->bell->wake.Set();
}

void AgentCore::Fit(std::unique_ptr<AgentGear> gear) {
  std::lock_guard lock(gears_mutex_);
  gears_.push_back(std::move(gear));
  gear_.store(gears_.back().get(), std::memory_order_release);
}

void AgentCore::ChangeGear(AgentGear* gear) {
  // Only another model makes an agent forget.
  if (fitted_ != nullptr && fitted_->memory != gear->memory &&
      fitted_->policies->spec() == gear->policies->spec()) {
    std::swap(gear->memory, fitted_->memory);
  }
  fitted_ = gear;
  head_ = &gear->shape->head;
  recorder_.Attach(gear->ring.get());
  NoteOpen();
  if (gear->reseed) random_ = Random(gear->seed);
  playing_ = recorded_ = drawn_ = false;
  hold_ = {};
}

bool AgentCore::Step() {
  Settle();
  do {
    if (!Ensure()) return false;
  } while (!Pin());
  Remember();
  if (hold_.buffer != nullptr) {
    Run();
    PolicySet::Unpin(&pin_);
  }
  Choose();
  Record();
  return true;
}

void AgentCore::Settle() {
  AgentGear* gear = gear_.load(std::memory_order_acquire);
  if (gear != fitted_) [[unlikely]]
    ChangeGear(gear);
  NoteOpen();
  if (recorder_.open()) {
    if (recorded_) recorder_.Settle(step_reward_);
    if (!sight_.good) {
      DropTrajectory();
    } else if (recorder_.full() || (!acted_ && mode_ != next_mode_) || WeightsAppeared() ||
               Aged()) {
      Leave();
    }
  }
  if (!acted_ && fitted_ != nullptr) fitted_->memory->Forget();
}

/// Ends the open trajectory before the step that sees what the agent looks at.
void AgentCore::Leave() {
  if (recorder_.steps() == 0) return DropTrajectory();
  playing_ = recorded_ = false;
  recorder_.HandOver(sight_.row, steps());
  NoteOpen();
}

void AgentCore::DropTrajectory() {
  playing_ = recorded_ = false;
  recorder_.Drop();
  NoteOpen();
}

/// Wherever a trajectory was begun or has left, and at each step: the game may have gone on in
/// another thread.
void AgentCore::NoteOpen() {
  if (model_->pace == Pace::kNever) return;
  const std::thread::id now = recorder_.open() ? std::this_thread::get_id() : std::thread::id();
  if (now == opened_in_) [[likely]]
    return;
  if (opened_in_ != std::thread::id()) model_->bell->open.Closed(opened_in_);
  if (now != std::thread::id()) model_->bell->open.Opened(now);
  opened_in_ = now;
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
/// with the version it began under while that lasts. False: the wait was limited.
bool AgentCore::Ensure() {
  if (playing_ && recorder_.open()) [[likely]]
    return true;
  if (playing_ && acted_ && mode_ != PlayMode::kTrain && hold_.buffer != nullptr) return true;
  if (!acted_) mode_ = next_mode_;
  bool record = false;
  if (!Wait(&record)) return false;
  Begin(record);
  return true;
}

bool AgentCore::WantsToRecord() const {
  if (mode_ != PlayMode::kTrain || !sight_.good || !recorder_.attached()) return false;
  return model_->without_policy != WithoutPolicy::kDefault || !fitted_->policies->empty();
}

/// The only wait of a game's thread: never for kNever with kRandom or kDefault. `record`: what
/// follows is recorded.
bool AgentCore::Wait(bool* record) {
  return model_->WaitFor([&] {
    AgentGear* gear = gear_.load(std::memory_order_acquire);
    if (gear != fitted_) ChangeGear(gear);
    *record = WantsToRecord();
    if (MayBegin(*record)) return true;
    if (!*record || !HoldsUpItsThread()) return false;
    *record = false;
    return true;
  });
}

/// Credit is for one batch under one version (lock-step, staleness "block") and all of it is spent:
/// the next comes when that batch is there, and part of it may be what another agent of this very
/// thread has not finished. Which agents these are follows from play alone, not from time, so a
/// run in lock-step repeats. Elsewhere a learner gives every agent of a client its credit.
bool AgentCore::HoldsUpItsThread() const {
  const bool rounds =
      model_->pace == Pace::kLockstep || model_->at_version.load(std::memory_order_acquire) > 0;
  if (!rounds || !model_->live.load(std::memory_order_acquire)) return false;
  if (fitted_->policies->empty() && model_->without_policy == WithoutPolicy::kWait) return false;
  return !model_->HasCredit(fitted_->ring->layout().length) &&
         model_->bell->open.AnyOf(std::this_thread::get_id());
}

bool AgentCore::MayBegin(bool record) {
  const bool closed = model_->bell->nobody_hears();
  const bool weights = fitted_ != nullptr && fitted_->policies && !fitted_->policies->empty();
  if (model_->without_policy == WithoutPolicy::kWait && !weights && !closed &&
      !model_->given_up.load(std::memory_order_acquire)) {
    return false;
  }
  if (!record || recorder_.open()) return true;
  bool live = model_->live.load(std::memory_order_acquire);
  if (!live && !closed) {
    if (model_->comes_back()) return false;
    live = model_->live.load(std::memory_order_acquire);  // it may have come back just now
  }
  if (model_->pace == Pace::kNever || closed || !live) {
    model_->started.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
  const std::uint64_t newest = std::max(fitted_->policies->version(), model_->unplayable());
  if (newest < model_->at_version.load(std::memory_order_acquire)) return false;
  // guard: ClientOverBothPaths.WhatArrivesIsExactlyWhatWasPlayed: under a pace that waits, an agent
  //   waits for a free block
  // With every block on its way, the sender is behind: wait for it rather than drop.
  const int length = fitted_->ring->layout().length;
  if (!model_->HasCredit(length) || !recorder_.TakeInHand() || !model_->Reserve(length)) {
    return false;
  }
  // The credit may be of a later version, or what a session that has just ended gave back.
  if (newest >= model_->at_version.load(std::memory_order_acquire) &&
      model_->live.load(std::memory_order_acquire))
    return true;
  model_->started.fetch_sub(1, std::memory_order_acq_rel);
  return false;
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
  if (mode_ != PlayMode::kTrain || model_->deterministic)
    settings_.mode = ActSettings::Mode::kGreedy;
  playing_ = true;
  if (recorder_.open()) return recorder_.Restamp(stamp);
  if (!record || !recorder_.Start(stamp, steps())) return;
  NoteOpen();
  fitted_->memory->Write(recorder_.state0(), recorder_.frames0());
  begun_ns_ = MonotonicNs();
  steps_until_clock_ = kStepsBetweenClocks;
}

/// False when the buffer was taken for a newer version: what was recorded under it leaves, short.
bool AgentCore::Pin() {
  if (hold_.buffer == nullptr || PolicySet::Pin(&pin_, hold_)) [[likely]]
    return true;
  playing_ = false;
  if (recorder_.open() && recorder_.steps() > 0) Leave();
  return false;
}

void AgentCore::Remember() {
  if (fitted_ != nullptr) seen_ = fitted_->memory->Look(sight_.row);
}

void AgentCore::Run() {
  const Policy& policy = hold_.buffer->policy;
  AgentGear& gear = *fitted_;
  policy.Forward(seen_, 1, gear.outputs.data(), gear.scratch.data(), gear.memory->state().data());
  std::copy_n(policy.log_deviations(), gear.deviations.size(), gear.deviations.data());
}

ActionHead::Row AgentCore::PlayedRow() const {
  return {drawn_ ? fitted_->outputs.data() : nullptr, drawn_ ? fitted_->deviations.data() : nullptr,
          sight_.mask.empty() ? nullptr : sight_.mask.data()};
}

/// What the policy said is no use: the step is not learned from, nor what came before it.
void AgentCore::GiveUpPolicy() {
  drawn_ = false;
  AgentCounts::Add(counts_.steps_given_up, 1);
  std::ranges::fill(fitted_->memory->state(), 0.0f);
  if (recorder_.open()) DropTrajectory();
  Complain(Trouble::kOutputs);
}

void AgentCore::Choose() {
  drawn_ = hold_.buffer != nullptr;
  if (drawn_ && !(AllFinite(fitted_->outputs) && AllFinite(fitted_->deviations))) GiveUpPolicy();
  if (drawn_) {
    log_prob_ = head().Choose(PlayedRow(), settings_, random_, action_.data());
  } else if (hold_.buffer == nullptr && model_->without_policy == WithoutPolicy::kDefault) {
    head().FromGame(default_action_.data(), nullptr, action_.data());
    log_prob_ = 0.0f;
  } else {
    log_prob_ = head().ChooseUniform(PlayedRow().mask, random_, action_.data());
  }
}

void AgentCore::Record() {
  step_reward_ = 0.0;  // not when it is settled: after a limited wait that is done again
  recorded_ = recorder_.open();
  if (recorded_) recorder_.Record(sight_.row, action_, log_prob_, !acted_, sight_.mask);
  if (mode_ == PlayMode::kTrain) {
    AgentCounts::Add(counts_.steps, 1);
    if (!recorded_) AgentCounts::Add(counts_.steps_dropped, 1);
  } else {
    AgentCounts::Add(counts_.evaluation_steps, 1);
  }
  if (!acted_ && episode_.settings != model_->settings->revision()) episode_.settings = 0;
  acted_ = true;
  if (++episode_.length % AgentTroubles::kStepsWithoutEnd == 0) [[unlikely]]
    NoteLongEpisode();
}

}  // namespace murmurate
