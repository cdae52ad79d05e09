#include "server/daemon/steps_of_run.h"

#include <nlohmann/json.hpp>

#include "server/operate/admin.h"
#include "server/operate/shard_report.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kAnswerMs = 500;

}  // namespace

Result<std::uint64_t> StepsOfRun(const std::string& folder) {
  const Status nothing = Unavailable("no learner or shard of that run answers");
  const auto text = ReadFile(folder + "/address.json", kMostBytes);
  const Json address = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  if (!address.is_object() || !address.contains("admin") || !address["admin"].is_string())
    return nothing;
  const auto answer = AskAdmin(address["admin"].get<std::string>(), "status", kAnswerMs);
  if (!answer.ok()) return nothing;
  const Json status = Json::parse(*answer, nullptr, false);
  const char* const key = IsShardReport(*answer) ? "version" : "learned_steps";
  const Json models = status.is_object() ? status.value("models", Json::array()) : Json::array();
  if (models.empty() || !models[0].is_object() || !models[0].contains(key) ||
      !models[0][key].is_number_unsigned())
    return Unavailable("it has no model yet");
  return models[0][key].get<std::uint64_t>();
}

}  // namespace murmurate
