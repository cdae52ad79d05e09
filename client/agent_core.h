// AgentCore: what an Agent does. One game thread calls Act, Reward, End and the rest; mmr-client
// fits it with buffers (blocks, scratch memory) when the learner has said what it wants.
//
// AgentCore keeps the order of a step; each of its parts owns one kind of state: AgentObservation,
// AgentAction, AgentEpisode, AgentTrajectory, AgentPolicy, and AgentShared for mmr-client.
//
// A step is observation().Observe and SetMask, Step (or StepTogether), then what was chosen:
// action().choice or ReadAction.
//
//   Observe the observation as one row of its layout; numbers that are not finite and categories
//          that do not exist become zeros and cost the trajectory
//   SetMask the mask of the step; one that allows nothing becomes none and costs the trajectory
//   Step   finish the last step (its reward is final now); hand the trajectory over when it is
//          full, too old, or its version's buffer was taken; begin one if none is open (the only
//          place that may wait, and only for a pace that asks for it; not for what only this
//          thread can bring: such a step is played and not recorded); pin the version; complete
//          the row (agent_row.h); remember; run the policy; choose; record
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "client/agent_action.h"
#include "client/agent_episode.h"
#include "client/agent_observation.h"
#include "client/agent_policy.h"
#include "client/agent_shared.h"
#include "client/agent_trajectory.h"

namespace murmurate {

class AgentCore {
 public:
  /// `rows` > 1: this agent lends its scratch memory to a group of that size.
  /// `default_action`: of the model's space, or empty for an Action(space).
  AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number, const Action& default_action,
            int rows);
  ~AgentCore();

  // The game's thread.
  /// False: the wait was limited (SenderWakeup::max_wait_ns); the caller looks and steps again.
  bool Step();
  /// A step by itself, an episode of which no return is told, whose action is given: one that
  /// AgentAction::CheckRecord has found to be good. No policy is run. As Step, it may wait.
  /// `recorded`: it is in a trajectory that will be sent.
  bool StepGiven(const std::int32_t* choices, const float* numbers, bool* recorded);
  /// Agents of one model that have looked; the first one's scratch memory serves them all.
  static bool StepTogether(std::span<AgentCore* const> agents);
  void Reward(double reward);
  /// kTruncated: what the agent looks at now is the final observation.
  void End(EndKind kind, Success success = kNotSaid);
  /// `log_prob`: with which the game chose it; none: the policy's.
  void Took(int action, std::optional<float> log_prob = {}, const char* call = "Agent::Took");
  void Took(const Action& action, std::optional<float> log_prob = {},
            const char* call = "Agent::Took");
  /// Took for an action in the form of AgentAction::ReadAction; returns the reason where Took would
  /// abort, and changes nothing then.
  Status TryTook(const std::int32_t* choices, const float* numbers,
                 std::optional<float> log_prob = {});
  void Discard();
  /// Hands over what is recorded; nothing else may be called afterwards.
  void Close();

  AgentShared& shared() { return shared_; }
  const AgentShared& shared() const { return shared_; }
  const std::shared_ptr<ClientModel>& model() const { return shared_.model(); }
  AgentObservation& observation() { return observation_; }
  const AgentObservation& observation() const { return observation_; }
  AgentAction& action() { return action_; }
  AgentEpisode& episode() { return episode_; }
  const AgentEpisode& episode() const { return episode_; }

 private:
  void FinishReward();
  void SwitchBuffers(AgentBuffers* buffers);
  bool Ensure();
  bool PlayNewest(bool record);
  bool Wait(bool* record);
  bool MayBegin(bool record);
  bool Pin();
  void Leave();
  void DropTrajectory();
  void Choose();
  void Record();
  static bool PinTogether(std::span<AgentCore* const> agents);
  static void RunTogether(AgentBuffers& lent, std::span<AgentCore* const> agents);
  /// The action that was put is what the game did.
  Status TookWords(std::optional<float> log_prob);

  AgentShared shared_;
  AgentObservation observation_;
  AgentAction action_;
  AgentEpisode episode_;
  AgentTrajectory trajectory_;
  AgentPolicy policy_;
};

}  // namespace murmurate
