#include "server/metrics/parameter_file.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "server/metrics/event_file.h"
#include "server/metrics/event_message.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/parameter_histograms.h"
#include "server/metrics/wall_clock.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

class ParameterFile : public MetricSink {
 public:
  ParameterFile(EventFile file, const std::string& folder)
      : file_(std::move(file)), histograms_(folder) {}

  /// Marks the beginning of a life that goes on from `steps`, and writes the checkpoint of then.
  Status GoOn(std::uint64_t steps) {
    EventMessage start(UnixSeconds(), steps);
    start.SetSessionStart();
    MURMURATE_RETURN_IF_ERROR(file_.Append(start.Finish()));
    steps_ = steps;
    return WriteNew();
  }

  /// Writes the last checkpoint, which comes after the last row.
  ~ParameterFile() override { (void)WriteNew(); }

  Status Write(const Reading& reading) override {
    steps_ = reading.Count(kEnvironmentSteps);
    return WriteNew();
  }

 private:
  Status WriteNew() {
    EventMessage row(UnixSeconds(), steps_);
    for (const auto& [tensor, histogram] : histograms_.ReadNew())
      row.AddHistogram(tensor, histogram);
    return row.empty() ? Status() : file_.Append(row.Finish());
  }

  EventFile file_;
  ParameterHistograms histograms_;
  std::uint64_t steps_ = 0;
};

}  // namespace

Result<std::unique_ptr<MetricSink>> OpenParameterFile(const SinkTarget& target) {
  const std::string folder = target.folder + "/parameters";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return ResourceError(folder + ": cannot be made (" + error.message() +
                         "); check the folder's permissions");
  // What was written at the steps that the run goes on from is written again.
  const std::uint64_t steps = target.resumed ? target.resumed->Count(kEnvironmentSteps) : 0;
  const std::optional<std::uint64_t> kept = steps > 0 ? std::optional(steps - 1) : std::nullopt;
  MURMURATE_RETURN_IF_ERROR(CutEventsAfter(folder, kept).status());
  auto file = EventFile::Create(folder);
  if (!file.ok()) return file.status();
  EventMessage version(UnixSeconds(), 0);
  version.SetFileVersion();
  MURMURATE_RETURN_IF_ERROR(file->Append(version.Finish()));
  auto sink = std::make_unique<ParameterFile>(std::move(*file), target.folder);
  if (target.resumed != nullptr) MURMURATE_RETURN_IF_ERROR(sink->GoOn(steps));
  return std::unique_ptr<MetricSink>(std::move(sink));
}

}  // namespace murmurate
