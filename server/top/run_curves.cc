#include "server/top/run_curves.h"

#include "server/metrics/model_metrics.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/json_values.h"
#include "server/top/top_snapshot.h"

namespace murmurate {
namespace {

struct Shown {
  std::string_view column;
  const char* name;
};
/// What is shown together; the first of which there are numbers.
const std::vector<std::vector<Shown>>& Choices() {
  static const std::vector<std::vector<Shown>> kChoices = {
      {{kStreamError.name, "error"}, {kStreamNaiveError.name, "naive forecast"}},
      {{kMeanReturn.name, "return"}, {kEvalReturn.name, "evaluated"}},
      {{kLoss.name, "loss"}}};
  return kChoices;
}

/// The first model's files lie in the run's folder, those of a further one in a folder of its own.
std::string FileOf(const nlohmann::json& status, std::size_t model) {
  const std::string folder = ValueAt(status, "directory").text();
  const std::vector<nlohmann::json> models = ObjectsAt(status, "models");
  if (model == 0 || model >= models.size()) return folder + "/progress.csv";
  return folder + "/models/" + ValueAt(models[model], "name").text() + "/progress.csv";
}

}  // namespace

std::vector<TopCurve> RunCurves::Of(const nlohmann::json& status, std::size_t model) {
  if (ValueAt(status, "directory").text().empty()) return {};
  const std::string path = FileOf(status, model);
  std::unique_ptr<ProgressFile>& file = files_[path];
  if (!file) file = std::make_unique<ProgressFile>(path);
  (void)file->Refresh();
  std::vector<TopCurve> curves;
  for (const std::vector<Shown>& choice : Choices()) {
    for (const auto& [column, name] : choice)
      if (const auto found = file->curves().find(std::string(column));
          found != file->curves().end())
        curves.push_back({name, found->second.points()});
    if (!curves.empty()) break;
  }
  return curves;
}

}  // namespace murmurate
