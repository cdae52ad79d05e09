// The Grafana dashboard of examples/grafana asks for nothing that a learner does not say.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "server/metrics/model_metrics.h"
#include "server/metrics/prometheus_text.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/progress.h"
#include "server/operate/status_readings.h"
#include "shared/model/safetensors.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
using Names = std::set<std::string>;

/// What a model says that has learned in every way there is.
Reading FullModel() {
  Progress progress(0);
  progress.Apply({.at_ns = 1, .waited_s = 1, .lived_s = 2});
  Reading reading = progress.Live(2'000'000'000);
  reading.set_name("default");
  for (const Metric* metric : ProgressColumns()) reading.Set(*metric, 1.0);
  reading.Set(kActorWait, 0.5);
  reading.Set(kCheckpointFailures, 0);
  return reading;
}

Reading FullStream() {
  Reading reading("stream", "pumps");
  for (const Metric* metric : {&kStreamReceived, &kStreamRefused, &kStreamGaps, &kStreamLate,
                               &kStreamError, &kStreamNaiveError, &kStreamRate})
    reading.Set(*metric, 1.0);
  return reading;
}

/// The names that lines of PrometheusText begin with.
Names EmittedNames() {
  StatusReport report;
  report.models = {FullModel()};
  report.streams = {FullStream()};
  report.actors.actors = {{.name = "a-1"}};
  const std::string text = PrometheusText(StatusReadings(report));
  Names names;
  const std::regex line("(^|\n)(murmurate_[a-z0-9_]+)");
  for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match)
    names.insert((*match)[2]);
  return names;
}

void CollectQueries(const Json& json, std::vector<std::string>* queries) {
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      if ((key == "expr" || key == "query" || key == "definition") && value.is_string())
        queries->push_back(value);
  if (json.is_structured())
    for (const Json& part : json) CollectQueries(part, queries);
}

TEST(Dashboard, AsksForNamesThatThereAre) {
  const Json dashboard =
      Json::parse(*ReadFile(SourceFile("examples/grafana/murmurate.json"), 1 << 20));
  std::vector<std::string> queries;
  CollectQueries(dashboard, &queries);
  const Names emitted = EmittedNames();
  Names asked;
  const std::regex name("murmurate_[a-z0-9_]+");
  for (const std::string& query : queries)
    for (std::sregex_iterator match(query.begin(), query.end(), name), end; match != end; ++match)
      asked.insert(match->str());
  EXPECT_GE(asked.size(), 30u);
  for (const std::string& each : asked) EXPECT_TRUE(emitted.contains(each)) << each;
}

TEST(Dashboard, PanelsLieBesideEachOther) {
  const Json dashboard =
      Json::parse(*ReadFile(SourceFile("examples/grafana/murmurate.json"), 1 << 20));
  std::set<std::pair<int, int>> places;
  std::set<int> numbers;
  for (const Json& panel : dashboard["panels"]) {
    EXPECT_TRUE(
        places.emplace(panel["gridPos"]["x"].get<int>(), panel["gridPos"]["y"].get<int>()).second);
    EXPECT_TRUE(numbers.insert(panel["id"].get<int>()).second);
    if (panel["type"] != "row") EXPECT_FALSE(panel["targets"].empty()) << panel["title"];
  }
}

}  // namespace
}  // namespace murmurate
