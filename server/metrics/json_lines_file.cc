#include "server/metrics/json_lines_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/metrics/model_metrics.h"
#include "server/metrics/row_values.h"
#include "server/metrics/wall_clock.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

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
  /// After a failure (a full disk) the file ends with its last whole row.
  Status Append(const std::string& row) const {
    const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const off_t before = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    const ssize_t written = before < 0 ? -1 : write(fd, row.data(), row.size());
    const bool whole = written == static_cast<ssize_t>(row.size());
    const int error = written >= 0 ? ENOSPC : errno;  // what a part of a file's write means
    const bool half_left = written > 0 && !whole && ftruncate(fd, before) != 0;
    if (fd >= 0) close(fd);
    if (whole) return {};
    return ResourceError(path_ + ": cannot be written (" + std::strerror(error) +
                         "); free some disk space" +
                         (half_left ? ", and take out the half row at its end" : ""));
  }

  const std::string path_;
};

bool IsUpTo(const Reading& resumed, const Metric& metric, const Json& row,
            const std::string& name) {
  const auto count = row.find(name);
  return count == row.end() ||
         (count->is_number() && count->get<std::uint64_t>() <= resumed.Count(metric));
}

/// How many bytes the rows take before the first that is not whole or is of more steps.
std::uint64_t LengthUpTo(const Reading& resumed, std::istream* rows) {
  std::uint64_t length = 0;
  for (std::string row; std::getline(*rows, row) && !rows->eof(); length += row.size() + 1) {
    const Json json = Json::parse(row, nullptr, false);
    if (!json.is_object() || !json.contains("steps") ||
        !IsUpTo(resumed, kEnvironmentSteps, json, "steps") ||
        !IsUpTo(resumed, kTrainedSteps, json, std::string(kTrainedSteps.name)))
      break;
  }
  return length;
}

/// Cuts off what was written behind the steps of `resumed`; all, where nothing is resumed.
Status CutRows(const std::string& path, const Reading* resumed) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  std::uint64_t length = 0;
  if (!error && resumed != nullptr) {
    std::ifstream rows(path, std::ios::binary);
    if (rows) length = LengthUpTo(*resumed, &rows);
    if (rows.bad() || !rows.is_open()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error && length < size) fs::resize_file(path, length, error);
  if (!error) return {};
  return ResourceError(path + ": its rows cannot be read and cut off (" + error.message() +
                       "); check its permissions, or move it away");
}

}  // namespace

Result<std::unique_ptr<MetricSink>> OpenJsonLinesFile(const SinkTarget& target) {
  const std::string path = target.folder + "/metrics.jsonl";
  MURMURATE_RETURN_IF_ERROR(CutRows(path, target.resumed));
  return std::unique_ptr<MetricSink>(new JsonLinesFile(path));
}

}  // namespace murmurate
