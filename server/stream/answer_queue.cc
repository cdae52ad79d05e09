#include "server/stream/answer_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/stream/due_time.h"

namespace murmurate {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

}  // namespace

AnswerQueue::AnswerQueue(const ForecastSettings& settings, Answer answer)
    : settings_(settings), answer_(std::move(answer)) {}

void AnswerQueue::BeginSample(const std::string& device) {
  taking_ = &device;
  came_early_ = false;
}

void AnswerQueue::EndSample(const std::string& device, const SampleOutcome& outcome,
                            const Asked& asked) {
  taking_ = nullptr;
  if (outcome.refusal != Refusal::kNone)
    return answer_(asked, wire::Refused{WordOf(outcome.refusal), SentenceOf(outcome.refusal)});
  if (outcome.due && outcome.made_rows) {
    waiting_.push_back({device, asked});
  } else if (came_early_ && outcome.made_rows) {
    std::get<wire::Forecast>(early_).doubles = asked.doubles;
    answer_(asked, early_);
  } else {
    answer_(asked, wire::Taken{});
  }
}

void AnswerQueue::Give(const Forecast& forecast) {
  const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(answered_);
  const auto found = std::find_if(begin, waiting_.end(), [&](const Waiting& waiting) {
    return waiting.device == forecast.device;
  });
  if (found == waiting_.end()) {
    if (taking_ == nullptr || *taking_ != forecast.device) return;
    FillForecast(forecast, &std::get<wire::Forecast>(early_));
    came_early_ = true;
    return;
  }
  FillForecast(forecast, &std::get<wire::Forecast>(forecast_));
  std::get<wire::Forecast>(forecast_).doubles = found->asked.doubles;
  answer_(found->asked, forecast_);
  if (found == begin) {
    ++answered_;  // as good as always: forecasts come in the order of the rows
  } else {
    waiting_.erase(found);
  }
  if (answered_ < waiting_.size()) return;
  waiting_.clear();
  answered_ = 0;
}

void AnswerQueue::FillForecast(const Forecast& forecast, wire::Forecast* answer) const {
  answer->row = forecast.row;
  answer->time_ns = forecast.time_ns;
  answer->version = forecast.version;
  answer->alarm = static_cast<std::uint8_t>(forecast.alarm);
  answer->due_ns.clear();
  for (const int horizon : settings_.horizons)
    answer->due_ns.push_back(DueTime(forecast, settings_.every_s, horizon));
  answer->values.clear();
  answer->quantiles.clear();
  for (const Prediction& made : forecast.predictions) {
    const bool known = made.score.count > 0;
    const bool interval = known && made.quantiles.size() > 1;
    answer->values.push_back({made.published, made.model, made.baseline,
                              known ? made.score.model : kNone, known ? made.score.baseline : kNone,
                              interval ? made.score.inside : kNone,
                              static_cast<std::uint32_t>(made.score.count), made.by_model});
    answer->quantiles.insert(answer->quantiles.end(), made.quantiles.begin(), made.quantiles.end());
  }
}

}  // namespace murmurate
