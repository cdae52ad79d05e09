// AgentCore: what an Agent does. One game thread calls Act, Reward, End and the rest; mmr-client
// fits it with gear (blocks, scratch memory) when the learner has said what it wants.
//
// A step is Look, Allow, Step (or StepTogether), then what was chosen: choice or Give.
//
//   Look   the observation as one row of its layout; numbers that are not finite and categories
//          that do not exist become zeros and cost the trajectory
//   Allow  the mask of the step; one that allows nothing becomes none and costs the trajectory
//   Step   settle the last step (its reward is final now); hand the trajectory over when it is
//          full, too old, or its version's buffer was taken; begin one if none is open (the only
//          place that may wait, and only for a pace that asks for it; not for what only this
//          thread can bring: such a step is played and not recorded); pin the version; remember;
//          run the policy; choose; record
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/agent_gear.h"
#include "client/agent_troubles.h"
#include "client/client_model.h"
#include "client/trajectory_recorder.h"
#include "shared/core/random.h"

namespace murmurate {

class AgentCore {
 public:
  /// `rows` > 1: this agent lends its scratch memory to a group of that size.
  /// `default_action`: of the model's space, or empty for an Action(space).
  AgentCore(std::shared_ptr<ClientModel> model, std::uint32_t number, const Action& default_action,
            int rows);
  ~AgentCore();

  // The game's thread.
  /// One float32 box, which is read until the step is done. `call`: what the game called, for what
  /// it is told where that was a mistake (client/misuse.h).
  void Look(std::span<const float> observation, const char* call = "Agent::Act");
  void Look(const Observation& observation, const char* call = "Agent::Act");  ///< its parts
  /// False where Look aborts: nothing is seen then, and CheckSight says why.
  bool TryLook(const Observation& observation);
  void Allow(std::span<const std::uint8_t> mask, const char* call = "Agent::Act");  ///< empty: all
  /// What Look and Allow abort for.
  bool Fits(std::span<const float> observation) const { return observation.size() == numbers_; }
  bool Fits(std::span<const std::uint8_t> mask) const {
    return mask.empty() || mask.size() == mask_.size();
  }
  Status CheckSight(std::span<const float> observation) const;
  Status CheckSight(const Observation& observation) const;
  Status CheckMask(std::span<const std::uint8_t> mask) const;
  /// False: the wait was limited (SenderBell::max_wait_ns), and whoever calls looks and steps
  /// again.
  bool Step();
  /// Agents of one model that have looked; the first one's scratch memory serves them all.
  static bool StepTogether(std::span<AgentCore* const> agents);
  /// What the last step chose: the only choice of a Discrete action, or all of any action.
  int choice(const char* call = "Agent::Act") const;
  void Give(Action* action);
  void Give(std::span<float> action);  ///< of a Box
  /// All choices and switches, all numbers, each in the order of the space's parts.
  void Give(std::int32_t* choices, float* numbers);
  void Reward(double reward);
  /// kTruncated: what the agent looks at now is the final observation.
  void End(EndKind kind, Success success = kNotSaid);
  void Took(int action, const char* call = "Agent::Took");
  void Took(const Action& action, const char* call = "Agent::Took");
  /// As Took, and as Give gives them; what Took aborts for is said, and nothing has changed then.
  Status TryTook(const std::int32_t* choices, const float* numbers);
  /// Whether TryTook would take this at a step with this mask (null: none).
  Status CheckRecord(const std::int32_t* choices, const float* numbers, const std::uint8_t* mask);
  void Discard();
  /// False: not counted, as the value is not finite or the name is one too many.
  bool Report(std::string_view name, double value);
  void SetMode(PlayMode mode) { next_mode_ = mode; }
  /// Hands over what is recorded; nothing else may be called afterwards.
  void Close();

  // mmr-client, or before the agent is given away.
  void Fit(std::unique_ptr<AgentGear> gear);
  const AgentGear* gear() const { return gear_.load(std::memory_order_acquire); }
  /// visit(ring) of every ring the agent was ever given, the present one last, until it says true;
  /// whether it did.
  template <typename Visit>
  bool AnyRing(Visit visit) const {
    const std::lock_guard lock(gears_mutex_);
    for (const auto& gear : gears_) {
      if (gear->ring != nullptr && visit(gear->ring)) return true;
    }
    return false;
  }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  const AgentCounts& counts() const { return counts_; }
  const std::shared_ptr<ClientModel>& model() const { return model_; }
  std::uint32_t number() const { return number_; }
  int rows() const { return rows_; }
  /// The next sentence about play that could not be learned from; each kind once.
  bool TakeComplaint(std::string* sentence);
  const AgentTroubles& troubles() const { return troubles_; }
  /// Names that Report was given so far, in the order of a block's sums.
  std::vector<std::string> report_names() const;

 private:
  struct EpisodeSoFar {
    double raw_return = 0.0;
    std::uint32_t length = 0;
    /// As when the last episode ended; 0 when they had changed by the first step.
    std::uint16_t settings = 0;
    bool spoiled = false;        ///< a reward was not finite: no return to report
    std::uint32_t reported = 0;  ///< bit of each name
    std::array<double, kMaxReports> reports{};
  };

  /// What the agent looks at.
  struct Sight {
    std::span<const std::byte> row;
    std::span<const std::uint8_t> mask;
    bool good = true;  ///< as the game showed it: nothing had to be replaced
  };
  static std::size_t NumbersOfPlain(const ObservationLayout& layout);
  /// Zeros instead of a row that is not good.
  void LookAway();
  /// Notes it, and lets mmr-client know when it is the first of its kind.
  void Complain(Trouble kind, const AgentTroubles::Detail& detail = {});
  /// Warns that End has never been called after many steps; once for each model.
  void NoteLongEpisode();
  void Settle();
  void ChangeGear(AgentGear* gear);
  bool Ensure();
  void Begin(bool record);
  bool Wait(bool* record);
  bool MayBegin(bool record);
  bool HoldsUpItsThread() const;
  void NoteOpen();
  bool WantsToRecord() const;
  bool WeightsAppeared() const;
  bool Aged();
  bool Pin();
  void Leave();
  void DropTrajectory();
  void Remember();
  void Run();
  void GiveUpPolicy();
  void Choose();
  void Record();
  void FinishEpisode(Success success);
  /// The next episode's; between two of them the game reads its settings.
  void BeginEpisode();
  int NameIndex(std::string_view name);
  std::uint64_t steps() const { return counts_.steps.load(std::memory_order_relaxed); }
  static bool PinTogether(std::span<AgentCore* const> agents);
  static void RunTogether(AgentGear& lent, std::span<AgentCore* const> agents);
  const ActionHead& head() const { return *head_; }
  ActionHead::Row PlayedRow() const;
  /// game_ holds what the game did.
  Status TookWords();
  void PutGame(const std::int32_t* choices, const float* numbers);

  const std::shared_ptr<ClientModel> model_;
  const std::uint32_t number_;
  const int rows_;
  const std::size_t numbers_;  ///< of an observation that is one float32 box; else no size at all
  const std::vector<std::int32_t> default_action_;  ///< as the game gets it

  AgentCounts counts_;
  std::atomic<AgentGear*> gear_{nullptr};
  std::atomic<bool> closed_{false};
  std::atomic<int> report_count_{0};
  AgentTroubles troubles_;
  std::array<std::uint8_t, kMaxReports> report_names_;  ///< numbers of model.report_names

  // The game's thread only.
  AgentGear* fitted_ = nullptr;
  const ActionHead* head_ = &model_->head;  ///< or that of what is fitted
  TrajectoryRecorder recorder_;
  Random random_;
  PolicyHold hold_;
  ActSettings settings_;
  bool playing_ = false;       ///< hold_ (or no buffer at all) is what this step is played with
  bool recorded_ = false;      ///< the last action is the last step of the open block
  bool acted_ = false;         ///< an action of the running episode is there to be rewarded
  bool ended_ = false;         ///< the game has ended an episode, so it knows how to
  std::thread::id opened_in_;  ///< where the open trajectory is counted; none: nowhere
  PlayMode mode_ = PlayMode::kTrain, next_mode_ = PlayMode::kTrain;
  double step_reward_ = 0.0;
  EpisodeSoFar episode_;
  Sight sight_;
  const std::byte* seen_ = nullptr;         ///< what the policy sees of it
  AlignedFloats row_;                       ///< an observation of parts, put together
  std::vector<std::uint8_t> mask_;          ///< a copy of the last step's: Took comes after it
  std::vector<std::int32_t> action_;        ///< words, as recorded
  std::vector<std::int32_t> game_;          ///< as the game gets them
  std::vector<std::int32_t> drawn_action_;  ///< while Took is checked
  float log_prob_ = 0.0f;
  bool drawn_ = false;  ///< the last action was drawn from fitted_->outputs
  std::int64_t begun_ns_ = 0;
  int steps_until_clock_ = 0;

  mutable std::mutex gears_mutex_;  ///< mmr-client's side only
  std::vector<std::unique_ptr<AgentGear>> gears_;

  PolicyPin pin_;
};

}  // namespace murmurate
