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

LearningPause::LearningPause(LogCallback log, std::string refusal)
    : log_(std::move(log)), refusal_(std::move(refusal)) {}

std::optional<Result<std::string>> LearningPause::AnswerTo(const std::string& question) {
  if (question.starts_with(kPause)) return Begin(question.substr(kPause.size(), kMostName));
  if (question.starts_with(kUnpause)) return End(question.substr(kUnpause.size(), kMostName));
  return std::nullopt;
}

Result<std::string> LearningPause::Begin(const std::string& by) {
  if (!refusal_.empty()) return InvalidArgument(refusal_);
  if (const auto report = Report()) return report->Sentence();
  {
    const std::lock_guard lock(mutex_);
    by_ = by;
    since_ = UtcTime();
    since_ns_ = MonotonicNs();
    *flag_ = true;
  }
  const std::string sentence = Report()->Sentence();
  log_(LogLevel::kInfo, sentence);
  return sentence;
}

std::string LearningPause::End(const std::string& by) {
  const auto report = Report();
  if (!report) return "learning is not paused";
  {
    const std::lock_guard lock(mutex_);
    *flag_ = false;
  }
  const std::string sentence =
      "learning goes on after a pause of " + ShortDuration(report->seconds) + ", ended by " + by;
  log_(LogLevel::kInfo, sentence);
  return sentence;
}

std::optional<PauseReport> LearningPause::Report() const {
  const std::lock_guard lock(mutex_);
  if (!*flag_) return std::nullopt;
  return PauseReport{by_, since_, 1e-9 * static_cast<double>(MonotonicNs() - since_ns_)};
}

}  // namespace murmurate
