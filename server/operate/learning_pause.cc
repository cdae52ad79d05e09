#include "server/operate/learning_pause.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::string_view kPause = "pause by ", kUnpause = "unpause by ";
constexpr std::size_t kMostName = 80;

std::string UtcTime() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

std::string PauseReport::Sentence() const {
  return "learning is paused by " + by + " since " + since;
}

LearningPause::LearningPause(LogCallback log, std::string refusal, std::string others)
    : log_(std::move(log)), refusal_(std::move(refusal)), others_(std::move(others)) {}

std::optional<Result<std::string>> LearningPause::AnswerTo(const std::string& question) {
  if (question.starts_with(kPause)) return Begin(question.substr(kPause.size(), kMostName));
  if (question.starts_with(kUnpause)) return End(question.substr(kUnpause.size(), kMostName));
  return std::nullopt;
}

Result<std::string> LearningPause::Begin(const std::string& by) {
  if (!refusal_.empty()) return InvalidArgument(refusal_);
  const std::string addition = others_.empty() ? "" : "; " + others_;
  std::string sentence;
  {
    const std::lock_guard lock(mutex_);
    if (*flag_) return Now().Sentence() + addition;
    if (lifted_)  // the round under way, which a stop of lock-step actors waits for, is learned
      return InvalidArgument(
          "learning cannot be paused any more, because the run ends; go on with it by `murmurate "
          "resume`");
    by_ = by;
    since_ = UtcTime();
    since_ns_ = MonotonicNs();
    *flag_ = true;
    sentence = Now().Sentence() + addition;
  }
  log_(LogLevel::kInfo, sentence);
  return sentence;
}

std::string LearningPause::End(const std::string& by) {
  std::string sentence;
  {
    const std::lock_guard lock(mutex_);
    if (!*flag_) return "learning is not paused";
    sentence =
        "learning goes on after a pause of " + ShortDuration(Now().seconds) + ", ended by " + by;
    last_end_ns_ = MonotonicNs();
    *flag_ = false;
  }
  changed_.notify_all();
  log_(LogLevel::kInfo, sentence);
  return sentence;
}

void LearningPause::Lift() {
  {
    const std::lock_guard lock(mutex_);
    lifted_ = true;
  }
  (void)End("the end of the run");
}

std::optional<PauseReport> LearningPause::Report() const {
  const std::lock_guard lock(mutex_);
  if (!*flag_) return std::nullopt;
  return Now();
}

PauseReport LearningPause::Now() const {
  return {by_, since_, 1e-9 * static_cast<double>(MonotonicNs() - since_ns_)};
}

std::int64_t LearningPause::last_end_ns() const {
  const std::lock_guard lock(mutex_);
  return last_end_ns_;
}

void LearningPause::Await(std::chrono::milliseconds timeout, const std::function<bool()>& over) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return !*flag_ || over(); });
}

void LearningPause::Wake() {
  { const std::lock_guard lock(mutex_); }  // a thread that found nothing to do waits by then
  changed_.notify_all();
}

}  // namespace murmurate
