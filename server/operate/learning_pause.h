// LearningPause: whether the models of a run pause learning, by whom, and since when. It begins and
// ends by questions on the admin socket (AdminServer), and ends with the process: a run that is
// resumed learns. Models look at the flag between two batches (LearnTurns), and their learning
// threads wait here for the end of a pause. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
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
  /// `refusal`: why this run cannot be paused; "": it can. `others`: what the answer to "pause" says
  /// of learners that it does not pause, after a "; "; "": there are none. The beginning and the end
  /// of a pause are said in the log.
  LearningPause(LogCallback log, std::string refusal, std::string others = "");

  /// Answers "pause by NAME" and "unpause by NAME"; nothing: it is another question. Each is answered
  /// by the same words when it has been asked before. kInvalidArgument: the run cannot be paused.
  std::optional<Result<std::string>> AnswerTo(const std::string& question);
  /// Ends the pause, if there is one, because the run does; none begins any more.
  void Lift();

  /// Empty: learning is not paused.
  std::optional<PauseReport> Report() const;
  /// When the last pause ended, monotonic; 0: none has.
  std::int64_t last_end_ns() const;
  std::shared_ptr<const std::atomic<bool>> flag() const { return flag_; }

  /// Waits up to `timeout` for the end of the pause, or until `over` is true, which is asked at the
  /// beginning and at each Wake; it must not call this object.
  void Await(std::chrono::milliseconds timeout, const std::function<bool()>& over);
  void Wake();

 private:
  Result<std::string> Begin(const std::string& by);
  std::string End(const std::string& by);
  PauseReport Now() const;  ///< of a pause, under the lock

  const LogCallback log_;
  const std::string refusal_, others_;
  const std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string by_, since_;
  std::int64_t since_ns_ = 0, last_end_ns_ = 0;  ///< monotonic
  bool lifted_ = false;
};

}  // namespace murmurate
