#include "server/metrics/json_lines_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/metrics/model_metrics.h"
#include "server/metrics/row_values.h"
#include "server/metrics/wall_clock.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

Json ToJson(const MetricValue& value) {
  const auto* count = std::get_if<std::uint64_t>(&value.variant());
  return count ? Json(*count) : Json(*value.number());
}

class JsonLinesFile : public MetricSink {
 public:
  explicit JsonLinesFile(std::string path) : path_(std::move(path)) {}

  Status Write(const Reading& reading) override {
    Json row{{"model", reading.name()},
             {"time", UnixSeconds()},
             {"steps", reading.Count(kEnvironmentSteps)}};
    for (const auto& [name, value] : RowValues(reading)) row[name] = ToJson(value);
    return Append(row.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  }

 private:
  Status Append(const std::string& row) const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                               std::fclose);
    if (file && std::fputs(row.c_str(), file.get()) >= 0 && std::fflush(file.get()) == 0) return {};
    return ResourceError(path_ + ": cannot be written (" + std::strerror(errno) +
                         "); free some disk space");
  }

  const std::string path_;
};

/// The whole rows of at most `steps` steps.
std::string RowsUpTo(std::uint64_t steps, const std::string& text) {
  std::string kept, row;
  std::istringstream rows(text);
  while (std::getline(rows, row)) {
    const Json json = Json::parse(row, nullptr, false);
    if (json.is_object() && json.contains("steps") && json["steps"].is_number_unsigned() &&
        json["steps"].get<std::uint64_t>() <= steps)
      kept += row + '\n';
  }
  return kept;
}

/// Cuts off what was written behind the steps of `resumed`; all, where nothing is resumed.
Status CutRows(const std::string& path, const Reading* resumed) {
  const auto text = ReadFile(path, kMaxBytes);
  if (!text.ok()) return {};  // there is none yet
  const std::string kept = resumed ? RowsUpTo(resumed->Count(kEnvironmentSteps), *text) : "";
  if (kept == *text) return {};
  return WriteFileAtomically(path, std::as_bytes(std::span(kept.data(), kept.size())));
}

}  // namespace

Result<std::unique_ptr<MetricSink>> OpenJsonLinesFile(const SinkTarget& target) {
  const std::string path = target.folder + "/metrics.jsonl";
  MURMURATE_RETURN_IF_ERROR(CutRows(path, target.resumed));
  return std::unique_ptr<MetricSink>(new JsonLinesFile(path));
}

}  // namespace murmurate
