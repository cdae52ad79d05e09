// AgentEpisode: the running episode of an agent: the rewards and reports of the game, the mode it
// is played in, and the record that it leaves when it ends. The game's thread, except for the names
// of the reports, which mmr-client reads; no lock, no allocation.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "client/agent_shared.h"
#include "client/evaluated_episodes.h"
#include "client/trajectory_recorder.h"
#include "murmurate/client.h"

namespace murmurate {

class AgentEpisode {
 public:
  /// `shared`: where rewards that are not finite and a missing End are noted.
  explicit AgentEpisode(AgentShared& shared);

  // For the game.
  /// False: not counted, as the value is not finite or the name is one too many.
  bool Report(std::string_view name, double value);
  void SetMode(PlayMode mode) { next_mode_ = mode; }

  /// Any thread: names that Report was given so far, in the order of a block's sums.
  std::vector<std::string> report_names() const;

  // Of a step.
  /// False where the rewards of the step are no longer a finite float32: they are forgotten, the
  /// episode has no return to report, and what was recorded of the step cannot be learned from.
  bool Reward(double reward) {
    step_reward_ += reward;
    so_far_.raw_return += reward;
    if (std::abs(step_reward_) <= std::numeric_limits<float>::max()) [[likely]]
      return true;
    Spoil();
    return false;
  }
  double step_reward() const { return step_reward_; }
  /// An action of the episode is there to be rewarded.
  bool acted() const { return acted_; }
  PlayMode mode() const { return mode_; }
  /// The next step begins an episode in another mode than the last one's.
  bool mode_changes() const { return !acted_ && mode_ != next_mode(); }
  /// An episode that has not begun adopts the mode that was set, or is evaluated as the learner
  /// asks.
  void AdoptMode() {
    if (acted_) return;
    mode_ = next_mode();
    asked_for_ = mode_ != next_mode_;
  }
  /// A step was played; `recorder`: of the learner that an end would matter to, if it is attached.
  void NoteStep(TrajectoryRecorder& recorder) {
    step_reward_ = 0.0;  // not when it is recorded: after a limited wait that is done again
    if (!acted_ && so_far_.settings != model_.settings->revision()) so_far_.settings = 0;
    acted_ = true;
    if (++so_far_.length % AgentTroubles::kStepsWithoutEnd == 0) [[unlikely]]
      NoteLongEpisode(recorder.attached());
    if (asked_for_ && so_far_.length > evaluated_.most_steps()) [[unlikely]]
      GiveUpEvaluation(recorder);
  }
  /// The game chose the action of the step itself.
  void NoteTaken(TrajectoryRecorder& recorder) {
    evaluated_.Took();
    if (asked_for_) GiveUpEvaluation(recorder);
  }

  /// Adds the episode and its reports to `recorder`, unless it is silent; the next one begins.
  void End(Success success, TrajectoryRecorder& recorder);
  /// Begins the next episode and records nothing of this one; between two of them the game reads
  /// its settings.
  void Begin();
  /// After End or Begin: hands over what waits of evaluated episodes, in one message for those that
  /// the learner asked for and that follow each other.
  void TellEvaluated(TrajectoryRecorder& recorder) const {
    if (mode_ == PlayMode::kEvaluate && !(asked_for_ && asked_next_))
      recorder.HandOverNews(shared_.steps());
  }

 private:
  struct SoFar {
    double raw_return = 0.0;
    std::uint32_t length = 0;
    /// The settings' revision when the last episode ended; 0 when they had changed by the first
    /// step.
    std::uint16_t settings = 0;
    bool spoiled = false;        ///< a reward was not finite: no return to report
    bool given_up = false;       ///< only a part of it was played to be evaluated: no report
    std::uint32_t reported = 0;  ///< bit of each name
    std::array<double, kMaxReports> reports{};
  };

  PlayMode next_mode() const {
    return asked_next_ && next_mode_ == PlayMode::kTrain ? PlayMode::kEvaluate : next_mode_;
  }
  bool AskedForNext();
  void GiveUpEvaluation(TrajectoryRecorder& recorder);
  void Spoil();
  /// Warns that End has never been called after many steps; once for each model.
  void NoteLongEpisode(bool attached);
  void Record(Success success, TrajectoryRecorder& recorder) const;
  int NameIndex(std::string_view name);

  AgentShared& shared_;
  ClientModel& model_;
  bool acted_ = false;
  bool ended_ = false;  ///< the game has ended an episode, so it knows how to
  PlayMode mode_ = PlayMode::kTrain;
  PlayMode next_mode_ = PlayMode::kTrain;  ///< as the game set it
  EvaluatedEpisodes evaluated_;
  bool asked_for_ = false;   ///< the learner asked for the evaluation of this episode
  bool asked_next_ = false;  ///< and of the one that has not begun, if the game trains
  double step_reward_ = 0.0;
  SoFar so_far_;
  std::array<std::uint8_t, kMaxReports> report_names_;  ///< numbers of model.report_names
  std::atomic<int> report_count_{0};
};

}  // namespace murmurate
