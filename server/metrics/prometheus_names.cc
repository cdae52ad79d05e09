#include "server/metrics/prometheus_names.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace murmurate {
namespace {

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The words of a name, each once.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name) {
    if (IsLetterOrDigit(c)) word += c;
    if (IsLetterOrDigit(c) || word.empty()) continue;
    words.push_back(std::exchange(word, ""));
  }
  if (!word.empty()) words.push_back(word);
  std::vector<std::string> once;
  for (const std::string& one : words)
    if (std::ranges::find(once, one) == once.end()) once.push_back(one);
  return once;
}

std::vector<std::string> EndingOf(const Metric& metric) {
  std::vector<std::string> ending;
  if (metric.unit == "s") ending.push_back("seconds");
  if (metric.unit == "bytes") ending.push_back("bytes");
  if (metric.unit == "of 1") ending.push_back("ratio");
  if (PrometheusType(metric) == "counter") ending.push_back("total");
  return ending;
}

}  // namespace

std::string_view PrometheusType(const Metric& metric) {
  switch (metric.kind) {
    case MetricKind::kCounter:
    case MetricKind::kTotal:
      return "counter";
    case MetricKind::kGauge:
    case MetricKind::kMean:
    case MetricKind::kMax:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
    case MetricKind::kText:
      break;
  }
  return "";
}

std::string PrometheusName(const Metric& metric) {
  std::vector<std::string> words = WordsOf(metric.name);
  const std::vector<std::string> ending = EndingOf(metric);
  if (metric.unit == "s") std::erase(words, "s");
  if (metric.unit.ends_with("/s")) std::ranges::replace(words, "s", "second");
  std::erase_if(words, [&](const std::string& word) {
    return std::ranges::find(ending, word) != ending.end();
  });
  words.insert(words.end(), ending.begin(), ending.end());
  std::string name = "murmurate";
  for (const std::string& word : words) name += '_' + word;
  return name;
}

}  // namespace murmurate
