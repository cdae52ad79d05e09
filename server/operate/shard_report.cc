#include "server/operate/shard_report.h"

#include "server/metrics/shard_metrics.h"
#include "server/operate/json_values.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

std::string Lines(const Json& report) {
  std::string text = FillText(
      "shard {shard} of {shards} ({directory}), process {pid}, up {uptime_s|time}\n"
      "listening on {listen}\n",
      report);
  const Json models = report.value("models", Json::array());
  for (const Json& model : models)
    text += FillText(
        "model {name}: version {version|,}, {workers} workers[, {pushes|,} pushes ({merged|,} "
        "merged), {pushes_per_s|%.1f}/s]\n[  waiting: {waits}[+, for {waiting_s|time}]\n]",
        model);
  if (models.empty()) text += "no worker has come yet\n";
  return text + (report.value("stays", false) ? "stays when its last worker has left\n"
                                              : "ends when its last worker has left\n");
}

}  // namespace

std::string ShardReport::ToJson(int indent) const {
  Json json{{"shard", shard}, {"shards", shards},       {"directory", directory},
            {"pid", pid},     {"uptime_s", uptime_s},   {"listen", listen},
            {"stays", stays}, {"models", Json::array()}};
  for (const Model& model : models)
    json["models"].push_back(JsonOf(ReadingOf(model), {{"waits", model.waits}}));
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Reading ReadingOf(const ShardReport::Model& model) {
  Reading reading("model", model.name);
  reading.Set(kShardVersion, model.version);
  reading.Set(kShardMembers, model.workers);
  reading.Set(kShardPushes, model.pushes);
  reading.Set(kShardMerged, model.merged);
  reading.Set(kShardPushRate, model.pushes_per_s);
  reading.Set(kShardWaiting, model.waiting_s);
  return reading;
}

std::vector<Reading> ShardReadings(const ShardReport& report) {
  Reading reading("shard", std::to_string(report.shard));
  reading.Set(kShardUptime, report.uptime_s);
  for (const ShardReport::Model& model : report.models) {
    const Reading own = ReadingOf(model);
    for (const MetricSample& sample : own.samples())
      reading.Add(*sample.metric, model.name, sample.value);
  }
  return {std::move(reading)};
}

bool IsShardReport(const std::string& json) {
  const Json report = Json::parse(json, nullptr, false);
  return report.is_object() && report.contains("shard");
}

Result<std::string> ShardText(const std::string& json) {
  try {
    return Lines(Json::parse(json));
  } catch (const Json::exception& error) {
    return InvalidData(std::string("the shard's status cannot be read (") + error.what() +
                       "); use the same version of murmurate on both sides");
  }
}

}  // namespace murmurate
