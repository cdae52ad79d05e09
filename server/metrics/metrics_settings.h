// MetricsSettings: [metrics]: the sinks of a run beside progress.csv and reports.csv.
#pragma once

namespace murmurate {

struct MetricsSettings {
  bool tensorboard = true;
  bool json_lines = false;
  bool parameters = false;
};

}  // namespace murmurate
