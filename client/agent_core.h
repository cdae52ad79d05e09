// AgentCore: what an Agent does. One game thread calls Act, Reward, End and the rest; mmr-client
// fits it with gear (blocks, scratch memory) when the learner has said what it wants.
//
// Act, step by step: settle the last step (its reward is final now); hand the trajectory over when
// it is full, too old, or its version's buffer was taken; begin one if none is open (the only place
// that may wait, and only for a pace that asks for it); pin the version; run the policy; choose;
// record.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/agent_gear.h"
#include "client/client_model.h"
#include "client/trajectory_recorder.h"
#include "shared/core/random.h"

namespace murmurate {

class AgentCore {
 public:
  /// `rows` > 1: this agent lends its scratch memory to a group of that size.
  AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number, int default_action, int rows);
  ~AgentCore();

  // The game's thread.
  int Act(std::span<const float> observation);
  void Reward(double reward);
  void End(EndKind kind, std::span<const float> final_observation);
  void Took(int action);
  void Discard();
  void Report(std::string_view name, double value);
  void SetMode(PlayMode mode) { next_mode_ = mode; }
  /// Hands over what is recorded; nothing else may be called afterwards.
  void Close();
  /// Agents of one model; the first one's scratch memory serves them all.
  static void ActTogether(std::span<AgentCore* const> agents, std::span<const float> observations,
                          std::span<std::int32_t> actions);

  // mmr-client, or before the agent is given away.
  void Fit(std::unique_ptr<AgentGear> gear);
  const AgentGear* gear() const { return gear_.load(std::memory_order_acquire); }
  /// Every ring the agent was ever given, the present one last.
  std::vector<std::shared_ptr<TrajectoryRing>> rings() const;
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  const AgentCounts& counts() const { return counts_; }
  const std::shared_ptr<ClientModel>& model() const { return model_; }
  std::uint32_t number() const { return number_; }
  int rows() const { return rows_; }
  /// Names that Report was given so far, in the order of a block's sums.
  std::vector<std::string> report_names() const;

 private:
  struct EpisodeSoFar {
    double raw_return = 0.0;
    std::uint32_t length = 0;
    bool spoiled = false;        ///< a reward was not finite: no return to report
    std::uint32_t reported = 0;  ///< bit of each name
    std::array<double, kMaxReports> reports{};
  };
  struct ReportName {
    std::array<char, 64> given{}, text{};  ///< as the game says it; as the wire takes it
    std::size_t size = 0;
  };

  void Settle(std::span<const float> observation);
  void ChangeGear(AgentGear* gear);
  void Ensure();
  void Begin(bool record);
  bool Wait();
  bool MayBegin(bool record);
  bool StuckInOneThread(bool record);
  bool WantsToRecord() const;
  bool WeightsAppeared() const;
  bool Aged();
  bool Pin(std::span<const float> observation);
  void Leave(std::span<const float> observation);
  void DropTrajectory();
  ActionChoice Choose(const float* logits);
  void Record(std::span<const float> observation, const ActionChoice& choice);
  void FinishEpisode();
  int NameIndex(std::string_view name);
  std::uint64_t steps() const { return counts_.steps.load(std::memory_order_relaxed); }
  static bool PinTogether(std::span<AgentCore* const> agents, std::span<const float> observations);
  static void RunTogether(AgentCore& leader, std::span<AgentCore* const> agents,
                          const float* observations);
  float LogProbability(int action) const;
  void CheckSize(std::span<const float> observation) const;

  const std::shared_ptr<ClientModel> model_;
  const std::uint32_t number_;
  const int default_action_, rows_;
  const std::size_t observation_count_;
  const int action_count_;

  AgentCounts counts_;
  std::atomic<AgentGear*> gear_{nullptr};
  std::atomic<bool> closed_{false};
  std::atomic<int> report_count_{0};
  std::array<ReportName, kMaxReports> report_names_;

  // The game's thread only.
  AgentGear* fitted_ = nullptr;
  TrajectoryRecorder recorder_;
  Random random_;
  PolicyHold hold_;
  ActSettings settings_;
  bool playing_ = false;   ///< hold_ (or no buffer at all) is what this step is played with
  bool recorded_ = false;  ///< the last action is the last step of the open block
  bool acted_ = false;     ///< an action of the running episode is there to be rewarded
  bool finite_ = true;     ///< what the agent sees now
  PlayMode mode_ = PlayMode::kTrain, next_mode_ = PlayMode::kTrain;
  double step_reward_ = 0.0;
  EpisodeSoFar episode_;
  bool drawn_ = false;  ///< the last action was drawn from the logits in fitted_->logits
  std::int64_t begun_ns_ = 0;
  int steps_until_clock_ = 0;

  mutable std::mutex gears_mutex_;  ///< mmr-client's side only
  std::vector<std::unique_ptr<AgentGear>> gears_;

  PolicyPin pin_;
};

}  // namespace murmurate
