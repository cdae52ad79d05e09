// The keys of all rooms, in the order of a resolved config.
#include "client/environments/environment.h"
#include "server/config/cluster_settings.h"
#include "server/config/config.h"
#include "server/config/model_settings.h"
#include "server/data/data_settings.h"
#include "server/hooks/hook_kinds.h"
#include "server/ingest/ingest_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/setting_keys.h"
#include "server/operate/log_settings.h"
#include "server/operate/operate_settings.h"
#include "server/page/page_settings.h"
#include "server/parameters/parameters_settings.h"
#include "server/schema/settings_keys.h"
#include "server/stream/stream_keys.h"

namespace murmurate {
namespace {

template <typename... Sections>
std::vector<ConfigRule> RulesOf(const Sections&... sections) {
  std::vector<ConfigRule> all;
  (all.insert(all.end(), sections.rules().begin(), sections.rules().end()), ...);
  return all;
}

}  // namespace

const ConfigSchema& Schema() {
  static const ConfigSchema kSchema{
      RulesOf(RunKeys(), EnvironmentKeys(), ServerKeys(), ModelKeys(), AlgorithmKeys(),
              AssemblyKeys(), OptimizerKeys(), ReplayKeys(), ParametersKeys(), ClusterKeys(),
              CheckpointKeys(), EvaluationKeys(), MetricsKeys(), PageKeys(), DataKeys(),
              RecordKeys(), LogKeys()),
      RulesOf(StreamKeys(), StreamFieldKeys(), StreamAlarmKeys()), SettingRule(), HookRules()};
  return kSchema;
}

}  // namespace murmurate
