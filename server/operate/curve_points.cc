// Points of learning curves: from a file, and several runs' as one.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "server/metrics/model_metrics.h"
#include "server/operate/learning_curve.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

/// The place of `column` in a header of names with commas between them; -1: there is none.
int ColumnIndex(const std::string& header, const std::string& column) {
  std::istringstream names(header);
  std::string name;
  for (int place = 0; std::getline(names, name, ','); ++place)
    if (name == column) return place;
  return -1;
}

std::string Field(const std::string& row, int place) {
  std::istringstream fields(row);
  std::string field;
  while (std::getline(fields, field, ','))
    if (place-- == 0) return field;
  return "";
}

std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// The last rows of runs of one length differ by a batch or so: none of them has stopped early.
constexpr double kSameEnd = 0.98;

std::uint64_t LongestOf(std::span<const std::vector<CurvePoint>> runs) {
  std::uint64_t last = 0;
  for (const auto& run : runs)
    if (!run.empty()) last = std::max(last, run.back().steps);
  return last;
}

/// Whether a run is part of the median and the band at so many steps.
bool Reaches(const std::vector<CurvePoint>& run, std::uint64_t steps, std::uint64_t longest) {
  if (run.empty()) return false;
  return steps <= run.back().steps ||
         static_cast<double>(run.back().steps) >= kSameEnd * static_cast<double>(longest);
}

/// The value on the straight line between two points; behind the last, its own. The run has begun.
double ValueAt(const std::vector<CurvePoint>& run, std::uint64_t steps) {
  const auto after =
      std::upper_bound(run.begin(), run.end(), steps,
                       [](std::uint64_t at, const CurvePoint& point) { return at < point.steps; });
  const CurvePoint& from = *std::prev(after);
  if (after == run.end()) return from.mean_return;
  const double way =
      static_cast<double>(steps - from.steps) / static_cast<double>(after->steps - from.steps);
  return from.mean_return + way * (after->mean_return - from.mean_return);
}

/// Later rows of the same steps take the place of earlier ones.
void AddPoint(const std::string& at, const std::string& number, std::vector<CurvePoint>* points) {
  const auto steps = Number(at), value = Number(number);
  if (!steps || !value || *steps < 0 || *steps > 9e15) return;
  const CurvePoint point{static_cast<std::uint64_t>(*steps), *value};
  if (!points->empty() && points->back().steps >= point.steps) points->pop_back();
  points->push_back(point);
}

}  // namespace

std::vector<CurveSpread> SpreadOf(std::span<const std::vector<CurvePoint>> runs, int count) {
  const std::uint64_t last = LongestOf(runs);
  std::uint64_t first = 0;
  for (const auto& run : runs)
    if (!run.empty()) first = std::max(first, run.front().steps);
  std::vector<CurveSpread> spread;
  for (int i = 0; i < count && last > 0; ++i) {
    CurveSpread at{first + (last - first) * static_cast<std::uint64_t>(i) /
                               static_cast<std::uint64_t>(std::max(1, count - 1))};
    std::vector<double> values;
    for (const auto& run : runs)
      if (Reaches(run, at.steps, last)) values.push_back(ValueAt(run, at.steps));
    at.least = *std::min_element(values.begin(), values.end());
    at.most = *std::max_element(values.begin(), values.end());
    at.median = MedianOf(std::move(values));
    spread.push_back(at);
  }
  return spread;
}

std::vector<CurvePoint> EarlyEndsOf(std::span<const std::vector<CurvePoint>> runs) {
  const std::uint64_t last = LongestOf(runs);
  std::vector<CurvePoint> ends;
  for (const auto& run : runs)
    if (!run.empty() && !Reaches(run, last, last)) ends.push_back(run.back());
  return ends;
}

Result<std::vector<CurvePoint>> ReadCurve(const std::string& progress_csv,
                                          const std::string& column) {
  auto text = ReadFile(progress_csv, kMaxBytes);
  if (!text.ok()) return text.status();
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  const std::string steps(kEnvironmentSteps.name);
  const int x = ColumnIndex(line, steps), y = ColumnIndex(line, column);
  if (x < 0 || y < 0)
    return InvalidData(progress_csv + ":1: no column \"" + (x < 0 ? steps : column) +
                       "\"; name one of its first line");
  std::vector<CurvePoint> points;
  while (std::getline(lines, line)) AddPoint(Field(line, x), Field(line, y), &points);
  return points;
}

Result<std::vector<CurvePoint>> ReadReportedCurve(const std::string& reports_csv,
                                                  const std::string& name) {
  auto text = ReadFile(reports_csv, kMaxBytes);
  if (!text.ok()) return text.status();
  std::istringstream lines(*text);
  std::vector<CurvePoint> points;
  for (std::string line; std::getline(lines, line);)
    if (Field(line, 1) == name) AddPoint(Field(line, 0), Field(line, 2), &points);
  if (!points.empty()) return points;
  return InvalidData(reports_csv + ": no rows of \"" + name + "\"; name one of its second column");
}

}  // namespace murmurate
