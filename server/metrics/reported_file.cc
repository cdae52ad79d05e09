#include "server/metrics/reported_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "server/metrics/model_metrics.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

class ReportedFile : public MetricSink {
 public:
  explicit ReportedFile(std::string path) : path_(std::move(path)) {}

  Status Write(const Reading& reading) override {
    std::string rows;
    for (const MetricSample& sample : reading.samples())
      if (*sample.metric == kReported && sample.count > 0)
        rows += std::to_string(reading.Count(kEnvironmentSteps)) + ',' + sample.label + ',' +
                FormatNumber("%.9g", *sample.value.number()) + ',' + std::to_string(sample.count) +
                '\n';
    return rows.empty() ? Status() : Append(rows);
  }

 private:
  Status Append(const std::string& rows) const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "ae"),
                                                               std::fclose);
    if (file &&
        (std::ftell(file.get()) > 0 || std::fputs("steps,name,mean,count\n", file.get()) >= 0) &&
        std::fputs(rows.c_str(), file.get()) >= 0 && std::fflush(file.get()) == 0)
      return {};
    return ResourceError(path_ + ": cannot be written (" + std::strerror(errno) +
                         "); free some disk space");
  }

  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<MetricSink>> OpenReportedFile(const SinkTarget& target) {
  return std::unique_ptr<MetricSink>(new ReportedFile(target.folder + "/reports.csv"));
}

}  // namespace murmurate
