#include "client/agent_core.h"

#include <utility>

#include "client/agent_row.h"
#include "client/misuse.h"

namespace murmurate {

AgentCore::AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number,
                     const Action& default_action, int rows)
    : shared_(std::move(model), number, rows),
      observation_(shared_),
      action_(*shared_.model(), default_action),
      episode_(shared_),
      trajectory_(*shared_.model(), shared_.counts()),
      policy_(*shared_.model()) {}

AgentCore::~AgentCore() {
  if (!shared_.closed()) Close();
}

void AgentCore::Close() {
  trajectory_.Close(episode_.step_reward(), shared_.steps());
  policy_.Close();
  shared_.Close();
}

bool AgentCore::Step() {
  FinishReward();
  do {
    if (!Ensure()) return false;
  } while (!Pin());
  policy_.Remember(CompleteRow(policy_.fitted(), observation_, episode_, action_));
  if (policy_.version() != nullptr) {
    policy_.Run();
    policy_.Unpin();
  }
  Choose();
  Record();
  return true;
}

bool AgentCore::StepGiven(const std::int32_t* choices, const float* numbers, bool* recorded) {
  FinishReward();
  if (!Ensure()) return false;
  policy_.Remember(CompleteRow(policy_.fitted(), observation_, episode_, action_));
  action_.Give(choices, numbers);
  Record();
  *recorded = trajectory_.recorded();
  trajectory_.EndEpisode(kTerminated, {});
  episode_.Begin();
  if (trajectory_.open() && trajectory_.full()) {
    policy_.Stop();
    trajectory_.HandOver({}, shared_.steps());
  }
  return true;
}

void AgentCore::FinishReward() {
  AgentBuffers* const buffers = shared_.buffers();
  const bool refitted =
      buffers != policy_.fitted() && OnlyLengthDiffers(policy_.fitted(), *buffers);
  if (buffers != policy_.fitted() && !refitted) [[unlikely]]
    SwitchBuffers(buffers);
  trajectory_.NoteOpen();
  if (trajectory_.open()) {
    trajectory_.SetReward(episode_.step_reward());
    if (!observation_.good()) {
      DropTrajectory();
    } else if (trajectory_.full() || episode_.mode_changes() || policy_.WeightsAppeared() ||
               refitted || trajectory_.Aged()) {
      Leave();
    }
  }
  if (episode_.acted()) [[likely]]
    return;
  if (policy_.fitted() != nullptr) policy_.fitted()->memory->Forget();
  action_.NoteFirst();
}

void AgentCore::SwitchBuffers(AgentBuffers* buffers) {
  policy_.Attach(buffers);
  action_.UseHead(buffers->shape->head);
  trajectory_.Attach(buffers->ring.get());
  if (buffers->reseed) action_.Reseed(buffers->seed);
}

/// Ends the open trajectory before the step that sees what the agent looks at.
void AgentCore::Leave() {
  if (trajectory_.recorder().steps() == 0) return DropTrajectory();
  policy_.Stop();
  trajectory_.HandOver(CompleteRow(policy_.fitted(), observation_, episode_, action_),
                       shared_.steps());
}

void AgentCore::DropTrajectory() {
  policy_.Stop();
  trajectory_.Drop();
}

/// Something to play with, open for recording if it is to be recorded: the newest version is chosen
/// (Pin pins it again for each step), and a block opened. Where the learner lets it, an open
/// trajectory goes on under each newer version. An evaluation episode stays with the version it
/// began under while that lasts. False: the wait was limited.
bool AgentCore::Ensure() {
  if (policy_.playing() && trajectory_.open()) [[likely]] {
    if (!policy_.outdated() || !trajectory_.may_change_version() || PlayNewest(false)) [[likely]]
      return true;
  }
  if (policy_.playing() && episode_.acted() && episode_.mode() != PlayMode::kTrain &&
      policy_.version() != nullptr) {
    return true;
  }
  episode_.AdoptMode();
  bool record = false;
  if (!Wait(&record)) return false;
  return PlayNewest(record) || Ensure();
}

/// The newest version is played from the next step on: by the open trajectory or, if it is to be
/// recorded, a new one. False: the open one was handed over, as it cannot go on under that version.
bool AgentCore::PlayNewest(bool record) {
  const bool greedy = episode_.mode() != PlayMode::kTrain || shared_.model()->deterministic;
  const VersionStamp stamp = policy_.ChooseNewest(greedy, shared_.index());
  if (!trajectory_.open()) {
    if (record) trajectory_.Start(stamp, shared_.steps(), *policy_.fitted()->memory);
    return true;
  }
  if (trajectory_.recorder().ChangeVersion(stamp)) return true;
  Leave();
  return false;
}

/// The only wait of a game's thread: never for kNever with kRandom or kDefault. `record`: what
/// follows is recorded.
bool AgentCore::Wait(bool* record) {
  const auto look = [&] {
    AgentBuffers* const buffers = shared_.buffers();
    if (buffers != policy_.fitted()) SwitchBuffers(buffers);
    *record = episode_.mode() == PlayMode::kTrain && observation_.good() &&
              trajectory_.WantsToRecord(policy_.fitted());
    if (MayBegin(*record)) return true;
    if (!*record || !trajectory_.HoldsUpItsThread(*policy_.fitted())) return false;
    *record = false;
    return true;
  };
  ClientModel& model = *shared_.model();
  return model.wait.Until(look, model.wakeup->max_wait_ns);
}

bool AgentCore::MayBegin(bool record) {
  const bool closed = shared_.model()->wakeup->nobody_hears();
  if (!policy_.MayPlay(closed)) return false;
  return !record || trajectory_.open() || trajectory_.MayBegin(*policy_.fitted(), closed);
}

/// False when the buffer was taken for a newer version. What was recorded leaves, short, where it
/// cannot go on under another.
bool AgentCore::Pin() {
  if (policy_.Pin()) [[likely]]
    return true;
  policy_.Stop();
  if (trajectory_.open() && trajectory_.recorder().steps() > 0 && !trajectory_.may_change_version())
    Leave();
  return false;
}

void AgentCore::Choose() {
  if (!policy_.CheckOutputs()) {  // no use: the step is not learned from, nor what came before it
    AgentCounts::Add(shared_.counts().steps_given_up, 1);
    if (trajectory_.open()) DropTrajectory();
    shared_.Complain(Trouble::kOutputs);
  }
  const ActionHead::Row row = policy_.PlayedRow(observation_.mask());
  if (row.outputs != nullptr) {
    action_.ChooseByPolicy(row, policy_.settings());
  } else if (policy_.version() == nullptr &&
             shared_.model()->without_policy == WithoutPolicy::kDefault) {
    action_.ChooseDefault();
  } else {
    action_.ChooseUniform(row.mask);
  }
}

void AgentCore::Record() {
  trajectory_.Record(policy_.row(), action_.words(), action_.log_prob(), !episode_.acted(),
                     observation_.mask());
  AgentCounts& counts = shared_.counts();
  if (episode_.mode() == PlayMode::kTrain) {
    AgentCounts::Add(counts.steps, 1);
    if (!trajectory_.recorded()) AgentCounts::Add(counts.steps_dropped, 1);
  } else {
    AgentCounts::Add(counts.evaluation_steps, 1);
  }
  episode_.NoteStep(trajectory_.recorder());
}

void AgentCore::Reward(double reward) {
  if (!episode_.acted() || episode_.Reward(reward)) return;
  if (trajectory_.open()) DropTrajectory();
}

void AgentCore::End(EndKind kind, Success success) {
  if (!episode_.acted()) return;
  trajectory_.SetReward(episode_.step_reward());
  if (kind == kTerminated) {  // what the game showed last may be gone
    trajectory_.EndEpisode(kind, {});
  } else if (trajectory_.recorded() && !observation_.good()) {
    DropTrajectory();
  } else {
    trajectory_.EndEpisode(kind, CompleteRow(policy_.fitted(), observation_, episode_, action_));
  }
  TrajectoryRecorder& recorder = trajectory_.recorder();
  episode_.End(success, recorder);
  if (recorder.open() && (recorder.full() || recorder.finals_used_up())) {
    policy_.Stop();
    trajectory_.HandOver({}, shared_.steps());
  } else {
    episode_.TellEvaluated(recorder);
  }
}

void AgentCore::Took(int action, std::optional<float> log_prob, const char* call) {
  action_.PutDone(action, call);
  const Status status = TookWords(log_prob);
  MURMURATE_EXPECT(status.ok(), call, status.message());
}

void AgentCore::Took(const Action& action, std::optional<float> log_prob, const char* call) {
  action_.PutDone(action, call);
  const Status status = TookWords(log_prob);
  MURMURATE_EXPECT(status.ok(), call, status.message());
}

Status AgentCore::TryTook(const std::int32_t* choices, const float* numbers,
                          std::optional<float> log_prob) {
  action_.PutDone(choices, numbers);
  const Status status = TookWords(log_prob);
  return status.ok() ? status : InvalidArgument("Took: " + status.message());
}

Status AgentCore::TookWords(std::optional<float> log_prob) {
  if (!episode_.acted()) return Status();
  if (log_prob.has_value())
    if (Status fault = action_.CheckLogProbability(*log_prob); !fault.ok()) return fault;
  const ActionHead::Row row = policy_.PlayedRow(observation_.mask());
  if (Status fault = action_.Replace(row.mask); !fault.ok()) return fault;
  episode_.NoteTaken(trajectory_.recorder());
  if (!trajectory_.recorded()) return Status();
  trajectory_.recorder().Replace(
      action_.words(), log_prob.has_value() ? action_.Recorded(*log_prob)
                                            : action_.LogProbability(row, policy_.settings()));
  return Status();
}

void AgentCore::Discard() {
  trajectory_.ForgetEpisode();
  episode_.Begin();
  episode_.TellEvaluated(trajectory_.recorder());
}

}  // namespace murmurate
