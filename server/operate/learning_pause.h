// LearningPause: whether the models of a run pause learning, by whom, and since when. It begins and
// ends by questions on the admin socket (AdminServer), and ends with the process: a run that is
// resumed learns. Models look at the flag between two batches (LearnTurns). Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"

namespace murmurate {

/// PauseReport is a pause as `murmurate status` shows it.
struct PauseReport {
  std::string by, since;  ///< "the live page", "2026-01-31 12:00:00 UTC"
  double seconds = 0;

  std::string Sentence() const;  ///< "learning is paused by the live page since ... UTC"
};

class LearningPause {
 public:
  /// `refusal`: why this run cannot be paused; "": it can. The beginning and the end of a pause are
  /// said in the log.
  LearningPause(LogCallback log, std::string refusal);

  /// Answers "pause by NAME" and "unpause by NAME"; nothing: it is another question. Each is answered
  /// by the same words when it has been asked before. kInvalidArgument: the run cannot be paused.
  std::optional<Result<std::string>> AnswerTo(const std::string& question);
  /// Ends the pause, if there is one, because the run does.
  void Lift() { (void)End("the end of the run"); }
  /// Empty: learning is not paused.
  std::optional<PauseReport> Report() const;
  std::shared_ptr<const std::atomic<bool>> flag() const { return flag_; }

 private:
  Result<std::string> Begin(const std::string& by);
  std::string End(const std::string& by);

  const LogCallback log_;
  const std::string refusal_;
  const std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
  mutable std::mutex mutex_;
  std::string by_, since_;
  std::int64_t since_ns_ = 0;  ///< monotonic
};

}  // namespace murmurate
