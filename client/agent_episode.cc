#include "client/agent_episode.h"

#include "shared/core/random.h"

namespace murmurate {

AgentEpisode::AgentEpisode(AgentShared& shared) : shared_(shared), model_(*shared.model()) {
  Begin();
}

void AgentEpisode::Spoil() {
  shared_.Complain(Trouble::kReward, {.value = step_reward_});
  AgentCounts::Add(shared_.counts().rewards_not_finite, 1);
  step_reward_ = 0.0;
  so_far_.spoiled = true;
}

void AgentEpisode::NoteLongEpisode(bool attached) {
  if (ended_ || mode_ != PlayMode::kTrain || !attached) return;
  if (model_.said_no_end.exchange(true, std::memory_order_relaxed)) return;
  shared_.Complain(Trouble::kNoEnd);
}

void AgentEpisode::End(Success success, TrajectoryRecorder& recorder) {
  if (!ended_) shared_.ClearTrouble(Trouble::kNoEnd);
  ended_ = true;
  if (mode_ != PlayMode::kSilent && !so_far_.given_up) Record(success, recorder);
  if (mode_ == PlayMode::kTrain) model_.episodes.fetch_add(1, std::memory_order_relaxed);
  if (mode_ == PlayMode::kTrain || asked_for_) evaluated_.Count(asked_for_, so_far_.length);
  Begin();
}

/// Whether the learner asks for the evaluation of the episode that begins.
bool AgentEpisode::AskedForNext() {
  const AgentBuffers* const buffers = shared_.buffers();
  const double share = model_.evaluation_share.load(std::memory_order_relaxed);
  const bool heard = share > 0.0 && buffers != nullptr && buffers->ring != nullptr &&
                     !buffers->policies->empty() && model_.live.load(std::memory_order_acquire);
  if (!heard) return evaluated_.Next({});
  return evaluated_.Next(
      {.share = share,
       .trajectory_length = buffers->ring->layout().length,
       .model_episodes = model_.episodes.load(std::memory_order_relaxed),
       .seed = buffers->reseed ? buffers->seed : DeriveSeed(0, shared_.number())});
}

/// The episode goes on as training does, and its return counts for nothing.
void AgentEpisode::GiveUpEvaluation(TrajectoryRecorder& recorder) {
  evaluated_.GiveUp(so_far_.length);
  recorder.HandOverNews(shared_.steps());
  mode_ = PlayMode::kTrain;
  asked_for_ = false;
  so_far_ = {.settings = so_far_.settings, .given_up = true};
}

void AgentEpisode::Record(Success success, TrajectoryRecorder& recorder) const {
  const bool evaluated = mode_ == PlayMode::kEvaluate;
  const std::uint8_t mode = !evaluated ? 0 : asked_for_ ? 2 : 1;
  // What is left of training goes by itself: numbers of both in one block could not be told apart.
  if (evaluated) recorder.HandOverNewsBut(mode, shared_.steps());
  if (!so_far_.spoiled) {
    recorder.AddEpisode({.raw_return = so_far_.raw_return,
                         .length = so_far_.length,
                         .mode = mode,
                         .success = success,
                         .settings = so_far_.settings});
  }
  for (int i = 0; i < kMaxReports; ++i) {
    if (so_far_.reported >> i & 1) recorder.AddReport(i, so_far_.reports[i]);
  }
}

void AgentEpisode::Begin() {
  so_far_ = {};
  so_far_.settings = model_.settings->revision();
  step_reward_ = 0.0;
  acted_ = false;
  asked_next_ = AskedForNext();
}

int AgentEpisode::NameIndex(std::string_view name) {
  const int known = report_count_.load(std::memory_order_relaxed);
  for (int i = 0; i < known; ++i) {
    if (model_.report_names.Is(report_names_[i], name)) return i;
  }
  if (known == kMaxReports) return -1;
  const int number = model_.report_names.Find(name);
  if (number < 0) return -1;
  report_names_[known] = static_cast<std::uint8_t>(number);
  report_count_.store(known + 1, std::memory_order_release);
  return known;
}

bool AgentEpisode::Report(std::string_view name, double value) {
  const int index = std::isfinite(value) ? NameIndex(name) : -1;
  if (index < 0) return false;
  so_far_.reported |= 1u << index;
  so_far_.reports[index] += value;
  return true;
}

std::vector<std::string> AgentEpisode::report_names() const {
  std::vector<std::string> names;
  const int known = report_count_.load(std::memory_order_acquire);
  for (int i = 0; i < known; ++i) {
    names.push_back(model_.report_names.Text(report_names_[i]));
  }
  return names;
}

}  // namespace murmurate
