// RunCurves: the learning curves of a run's models, from the files that the learner writes. One
// thread.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/operate/progress_file.h"
#include "server/top/curve_plot.h"

namespace murmurate {

class RunCurves {
 public:
  /// Of the model number `model` of what a learner answered "status": the return; of a stream the
  /// errors of the model and of the naive forecast; of labels the loss. Empty before the first row.
  /// Reads what was added to the file since the last call.
  std::vector<TopCurve> Of(const nlohmann::json& status, std::size_t model);

 private:
  std::map<std::string, std::unique_ptr<ProgressFile>> files_;  ///< by path
};

}  // namespace murmurate
