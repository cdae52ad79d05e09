#include "server/hooks/named_metrics.h"

#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

constexpr int kManyEvents = 20;

std::string NamesIn(const Reading& reading) {
  std::string names;
  for (const MetricSample& sample : reading.samples())
    if (sample.label.empty() && sample.value.number())
      names += (names.empty() ? "" : ", ") + std::string(sample.metric->name);
  return names;
}

}  // namespace

std::optional<double> NumberIn(const HookEvent& event, const std::string& metric) {
  return event.reading[metric].number();
}

std::string NumbersInWords(const HookEvent& event, const std::vector<std::string>& metrics) {
  std::string words;
  for (const std::string& metric : metrics)
    if (const auto number = NumberIn(event, metric))
      words += (words.empty() ? "" : ", ") + metric + ' ' + FormatNumber("%.6g", *number);
  return words;
}

std::optional<double> MetricWait::Look(const HookEvent& event, std::string* sentence) {
  const auto number = NumberIn(event, metric_);
  if (!number && ++without_ == kManyEvents)
    *sentence = "metric \"" + metric_ + "\" has had no value in " + std::to_string(kManyEvents) +
                " batches; those that have one: " + NamesIn(event.reading);
  return number;
}

}  // namespace murmurate
