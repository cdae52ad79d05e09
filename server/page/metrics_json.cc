#include "server/page/metrics_json.h"

#include <nlohmann/json.hpp>

#include "server/operate/json_values.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

const char* KindName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kTotal:
      return "total";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kMean:
      return "mean";
    case MetricKind::kMax:
      return "max";
    case MetricKind::kText:
      return "text";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace

std::string MetricsJson(std::span<const Reading> readings) {
  Json list = Json::array();
  for (const Reading& reading : readings)
    for (const MetricSample& sample : reading.samples())
      list.push_back({{"subject", reading.subject()},
                      {"of", reading.name()},
                      {"name", sample.metric->name},
                      {"label", sample.label},
                      {"kind", KindName(sample.metric->kind)},
                      {"unit", sample.metric->unit},
                      {"help", sample.metric->help},
                      {"value", ToJson(sample.value)}});
  return Json{{"metrics", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace murmurate
