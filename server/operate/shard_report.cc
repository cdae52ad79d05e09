#include "server/operate/shard_report.h"

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
    text += FillText("model {name}: version {version|,}, {workers} workers\n[  waiting: {waits}\n]",
                     model);
  if (models.empty()) text += "no worker has come yet\n";
  return text + (report.value("stays", false) ? "stays when its last worker has left\n"
                                              : "ends when its last worker has left\n");
}

}  // namespace

std::string ShardReport::ToJson() const {
  Json json{{"shard", shard}, {"shards", shards},       {"directory", directory},
            {"pid", pid},     {"uptime_s", uptime_s},   {"listen", listen},
            {"stays", stays}, {"models", Json::array()}};
  for (const Model& model : models)
    json["models"].push_back({{"name", model.name},
                              {"version", model.version},
                              {"workers", model.workers},
                              {"waits", model.waits}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
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
