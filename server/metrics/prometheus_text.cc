#include "server/metrics/prometheus_text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "server/metrics/prometheus_names.h"
#include "server/metrics/utf8.h"

namespace murmurate {
namespace {

/// `text` with a backslash before what ends a line, or also a label's value.
std::string Escaped(std::string_view text, bool quoted) {
  std::string escaped;
  for (const char c : ValidUtf8(text)) {
    if (c == '\\' || (quoted && c == '"')) escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

std::string Shortest(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// "" where the value is no number.
std::string NumberText(const MetricValue& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value.variant()))
    return std::to_string(*count);
  if (const auto* yes = std::get_if<bool>(&value.variant())) return *yes ? "1" : "0";
  const auto number = value.number();
  return number ? Shortest(*number) : "";
}

std::string HelpOf(const Metric& metric) {
  std::string help(metric.help.empty() ? metric.name : metric.help);
  if (!metric.unit.empty()) help += " (" + std::string(metric.unit) + ')';
  return Escaped(help, false);
}

/// `model="default",name="kills"`
std::string LabelsOf(const Reading& reading, const MetricSample& sample) {
  std::string labels;
  if (!reading.name().empty())
    labels = std::string(reading.subject()) + "=\"" + Escaped(reading.name(), true) + '"';
  if (!sample.label.empty())
    labels += (labels.empty() ? "name=\"" : ",name=\"") + Escaped(sample.label, true) + '"';
  return labels;
}

std::string Braced(const std::string& labels) { return labels.empty() ? "" : '{' + labels + '}'; }

std::string HistogramLines(const std::string& name, const std::string& labels,
                           const Histogram& histogram) {
  std::string lines;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    const std::string bound =
        i < histogram.bounds.size() ? Shortest(histogram.bounds[i]) : std::string("+Inf");
    lines += name + "_bucket{" + labels + (labels.empty() ? "le=\"" : ",le=\"") + bound + "\"} " +
             std::to_string(below) + '\n';
  }
  return lines + name + "_sum" + Braced(labels) + ' ' + Shortest(histogram.sum) + '\n' + name +
         "_count" + Braced(labels) + ' ' + std::to_string(below) + '\n';
}

/// The lines of a sample; "" where it has no value of its metric's kind.
std::string LinesOf(const std::string& name, const std::string& labels,
                    const MetricSample& sample) {
  const auto* histogram = std::get_if<Histogram>(&sample.value.variant());
  if ((histogram != nullptr) != (sample.metric->kind == MetricKind::kHistogram)) return "";
  if (histogram != nullptr) return HistogramLines(name, labels, *histogram);
  const std::string number = NumberText(sample.value);
  return number.empty() ? "" : name + Braced(labels) + ' ' + number + '\n';
}

/// The lines of all readings, those of one name together, as the format wants.
class Exposition {
 public:
  void Add(const Reading& reading) {
    for (const MetricSample& sample : reading.samples())
      if (!PrometheusType(*sample.metric).empty()) Add(LabelsOf(reading, sample), sample);
  }

  std::string Text() const {
    std::string text;
    for (const Family& family : families_) text += family.text;
    return text +
           "# HELP murmurate_series_left_out series that would be more than this text may have\n"
           "# TYPE murmurate_series_left_out gauge\n"
           "murmurate_series_left_out " +
           std::to_string(left_out_) + '\n';
  }

 private:
  struct Family {
    std::string name, text;
    std::set<std::string> labels = {};
  };

  void Add(const std::string& labels, const MetricSample& sample) {
    Family& family = Of(*sample.metric);
    const std::string lines = LinesOf(family.name, labels, sample);
    if (lines.empty() || family.labels.contains(labels)) return;
    const auto count = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
    if (series_ + count > kMaxPrometheusSeries) return void(left_out_ += count);
    series_ += count;
    if (family.labels.empty())
      family.text = "# HELP " + family.name + ' ' + HelpOf(*sample.metric) + "\n# TYPE " +
                    family.name + ' ' + std::string(PrometheusType(*sample.metric)) + '\n';
    family.labels.insert(labels);
    family.text += lines;
  }

  Family& Of(const Metric& metric) {
    const auto [place, added] = places_.try_emplace(metric.name, families_.size());
    if (added) families_.push_back({PrometheusName(metric), ""});
    return families_[place->second];
  }

  std::vector<Family> families_;
  std::unordered_map<std::string_view, std::size_t> places_;  ///< of a metric's name
  std::size_t series_ = 0, left_out_ = 0;
};

}  // namespace

std::string PrometheusText(std::span<const Reading> readings) {
  Exposition exposition;
  for (const Reading& reading : readings) exposition.Add(reading);
  return exposition.Text();
}

}  // namespace murmurate
