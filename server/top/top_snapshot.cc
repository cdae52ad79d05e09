#include "server/top/top_snapshot.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

const Json& ArrayAt(const Json& json, const char* key) {
  static const Json kNone = Json::array();
  return json.is_object() && json.contains(key) && json[key].is_array() ? json[key] : kNone;
}

}  // namespace

std::vector<Json> ObjectsAt(const Json& json, const char* key) {
  std::vector<Json> objects;
  for (const Json& item : ArrayAt(json, key))
    if (item.is_object()) objects.push_back(item);
  return objects;
}

std::vector<std::string> StringsAt(const Json& json, const char* key) {
  std::vector<std::string> strings;
  for (const Json& item : ArrayAt(json, key))
    if (item.is_string()) strings.push_back(item);
  return strings;
}

}  // namespace murmurate
