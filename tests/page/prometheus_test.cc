// /metrics as a real Prometheus takes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <regex>
#include <string>

#include "tests/page/page_of_run.h"

namespace murmurate {
namespace {

/// The numbers that a query of Prometheus answers with, by label `model`.
std::map<std::string, double> Query(int port, const std::string& query) {
  std::map<std::string, double> found;
  const auto answer = ClientOf(port).Get("/api/v1/query?query=" + query);
  if (!answer || answer->status != 200) return found;
  const Json json = Json::parse(answer->body, nullptr, false);
  if (!json.is_object()) return found;
  for (const Json& one : json["data"]["result"])
    found[one["metric"].value("model", "")] = std::stod(one["value"][1].get<std::string>());
  return found;
}

/// The port that a Prometheus says it listens on; 0: it has not yet.
int ListeningPort(const Process& prometheus) {
  std::smatch found;
  const std::string errors = prometheus.Errors();
  const std::regex line("Listening on\" address=[0-9.]+:([0-9]+)\n");
  return std::regex_search(errors, found, line) ? std::stoi(found[1]) : 0;
}

TEST(Prometheus, ScrapesALearner) {
  if (access("/usr/bin/prometheus", X_OK) != 0)
    GTEST_SKIP() << "there is no prometheus here; scripts/install-packages.sh ci installs it";
  Workplace place;
  Process train(place.path(), {"train", "cartpole", "--set", kAnyPort, "--set",
                               "run.stop_at_return=1000", "--set", "run.steps=100000000"});
  const int port = AwaitPage(place, "cartpole");
  ASSERT_GT(port, 0) << train.Errors();
  const std::string config = place.Write("prometheus.yml", R"(global:
  scrape_interval: 500ms
  scrape_timeout: 400ms
scrape_configs:
- job_name: murmurate
  static_configs:
  - targets: ["127.0.0.1:)" + std::to_string(port) + "\"]\n");
  Process prometheus(place.path(), {},
                     {"bash", "-c",
                      "exec prometheus --config.file='" + config + "' --storage.tsdb.path='" +
                          place.path() + "/series' --web.listen-address=127.0.0.1:0"});
  int queries = 0;
  ASSERT_TRUE(Eventually(20, [&] { return (queries = ListeningPort(prometheus)) > 0; }))
      << prometheus.Errors();
  const std::string steps = "murmurate_train_trained_steps_total";
  double first = 0, later = 0;
  ASSERT_TRUE(Eventually(20, [&] { return (first = Query(queries, steps)["default"]) > 0; }))
      << prometheus.Errors();
  EXPECT_TRUE(Eventually(10, [&] { return (later = Query(queries, steps)["default"]) > first; }))
      << "each scrape has newer numbers";
  EXPECT_EQ(Query(queries, "up")[""], 1);
  EXPECT_GT(Query(queries, "scrape_samples_scraped")[""], 20);
}

}  // namespace
}  // namespace murmurate
