// What it costs to write the numbers of a run: processor time of a row of each sink, and of a text
// for Prometheus, with the numbers of cartpole's PPO; and their share of a processor with a row
// every 5 seconds and a scrape each second. The limit is one core's memcpy of as many bytes.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "server/measure/limits.h"
#include "server/metrics/actor_metrics.h"
#include "server/metrics/csv_file.h"
#include "server/metrics/json_lines_file.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/prometheus_text.h"
#include "server/metrics/tensorboard_file.h"

namespace murmurate {
namespace {

constexpr double kRowsPerSecond = 0.2, kScrapesPerSecond = 1.0;

ActorReport Actor(int number) {
  ActorReport actor{.name = "cartpole-" + std::to_string(number), .agents = 4, .steps = 250'000};
  for (std::uint64_t i = 0; i < 1000; ++i) actor.staleness.Add(i % 5);
  return actor;
}

/// A row of a run with `actors`, all histograms in it changed.
Reading Row(int row, const std::vector<ActorReport>& actors) {
  Reading reading("model", "default");
  for (const Metric* metric : ProgressColumns()) reading.Set(*metric, 0.123456789 * row);
  reading.Set(kEnvironmentSteps, 1000 * row);
  reading.Set(kElapsed, 0.0);
  Histogram waits(std::vector<double>{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3});
  for (int i = 0; i < row + 1; ++i) waits.Add(0.001 * (i % 50));
  reading.Set(kBatchWait, waits);
  for (const MetricSample& sample : StalenessSamples(actors))
    reading.Add(*sample.metric, sample.label, sample.value);
  return reading;
}

void PrintMicroseconds(const std::string& name, double seconds, double bytes) {
  Print({.name = name,
         .unit = "us",
         .ours = seconds * 1e6,
         .limit = bytes / MeasureCopyBandwidth(static_cast<std::size_t>(bytes)) * 1e6});
}

/// Processor seconds of a row of one sink.
double SecondsOfRow(const char* name, OpenSink open, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto sink = std::move(*open({folder}));
  std::vector<ActorReport> actors{Actor(0), Actor(1), Actor(2), Actor(3)};
  std::vector<Reading> rows;
  for (int i = 0; i < 64; ++i) {
    for (ActorReport& actor : actors) actor.staleness.Add(static_cast<std::uint64_t>(i));
    rows.push_back(Row(i, actors));
  }
  std::size_t next = 0;
  const auto write = [&] {
    Reading& row = rows[next % rows.size()];
    row.Set(kElapsed, 61.0 * static_cast<double>(++next));  // histograms are due
    (void)sink->Write(row);
  };
  const double seconds = SecondsPerCall(write, 40, 2e-3);
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) bytes += file.file_size();
  PrintMicroseconds(std::string("a row of ") + name, seconds,
                    static_cast<double>(bytes) / static_cast<double>(next));
  return seconds;
}

double SecondsOfText(int count) {
  std::vector<ActorReport> actors;
  for (int i = 0; i < count; ++i) actors.push_back(Actor(i));
  std::string text;
  const Reading model = Row(1, {});
  const double seconds = SecondsPerCall(
      [&] {
        std::vector<Reading> readings = ActorReadings(actors);
        readings.insert(readings.begin(), model);
        text = PrometheusText(readings);
      },
      40, 2e-3);
  PrintMicroseconds("a text for Prometheus, " + std::to_string(count) + " actors", seconds,
                    static_cast<double>(text.size()));
  return seconds;
}

void Measure(const std::string& folder) {
  double row = 0;
  for (const auto& [name, open] :
       {std::pair<const char*, OpenSink>{"progress.csv", OpenProgressFile},
        {"TensorBoard, with histograms", OpenTensorBoardFile},
        {"metrics.jsonl", OpenJsonLinesFile}})
    row += SecondsOfRow(name, open, folder + '/' + name);
  const double text = SecondsOfText(4);
  (void)SecondsOfText(200);
  Print({.name = "of one processor, all sinks and a scrape each second",
         .unit = "%",
         .ours = 100 * (row * kRowsPerSecond + text * kScrapesPerSecond),
         .limit = 100,
         .target = 2,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

}  // namespace
}  // namespace murmurate

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "bench_metric_sinks-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return 1;
  murmurate::Measure(folder);
  std::filesystem::remove_all(folder);
}
