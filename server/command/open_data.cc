#include <cstdio>

#include "client/environments/environment.h"
#include "server/command/launch.h"
#include "server/data/training_data.h"
#include "shared/core/check.h"

namespace murmurate {

Result<std::shared_ptr<DataSource>> OpenDataOf(const CommonArguments& common,
                                               const Config& config) {
  const DataSettings data = config.data();
  const auto made = MakeExampleData(data);
  if (!made.ok()) return made.status();
  if (!made->empty() && !common.quiet && !config.run().follows())
    std::printf("%s\n", made->c_str());
  const std::string& name = config.run().environment;
  if (!data.given() || name.empty()) return OpenData(data);
  auto environment = MakeEnvironment(name, config.environment_options());
  if (!environment.ok()) return environment.status();
  return OpenData(data, &(*environment)->spaces());
}

}  // namespace murmurate
