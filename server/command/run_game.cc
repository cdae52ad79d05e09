#include "server/command/run_game.h"

#include <functional>
#include <map>
#include <utility>

#include "server/learn/setting_keys.h"

namespace murmurate {
namespace {

Result<Config> ConfigOf(const CommonArguments& common, const std::string& run) {
  auto source = FindConfig(run + "/config.toml");
  if (!source.ok()) return source.status();
  return Config::Load(*source, common.overrides);
}

/// Of a run's config, with the settings of the game where a curriculum leads them: that is what
/// counts.
EnvironmentOptions OptionsOf(const Config& config) {
  std::map<std::string, double, std::less<>> goals;
  for (const GameSetting& setting : config.game_settings()) goals[setting.name] = GoalOf(setting);
  EnvironmentOptions options = config.environment_options();
  options.setting = [goals](std::string_view setting, double fallback) {
    const auto goal = goals.find(setting);
    return goal == goals.end() ? fallback : goal->second;
  };
  return options;
}

}  // namespace

Result<RunGame> MakeRunGame(const CommonArguments& common, const CheckpointSource& source,
                            const std::string& name, const std::string& remedy) {
  RunGame game{.name = name, .environment = nullptr};
  EnvironmentOptions options;
  if (!source.run.empty()) {
    const auto config = ConfigOf(common, source.run);
    if (!config.ok()) return config.status();
    if (name.empty()) game.name = config->run().environment;
    options = OptionsOf(*config);
  } else if (name.empty()) {
    return InvalidArgument(source.folder +
                           ": lies in no run, so nothing says what it plays; name the run, or a "
                           "checkpoint in its folder checkpoints");
  }
  if (game.name.empty())
    return InvalidArgument(source.run + "/config.toml: run.environment is not set, and " + remedy);
  auto environment = MakeEnvironment(game.name, options);
  if (!environment.ok()) return environment.status();
  game.environment = *std::move(environment);
  return game;
}

Status CheckGameFits(const RunGame& game, const ModelSpec& spec, const CheckpointSource& source,
                     const std::string& remedy) {
  const std::string difference = FirstDifference(spec.spaces, game.environment->spaces());
  if (difference.empty()) return {};
  const std::string& from = source.folder.empty() ? source.run : source.folder;
  return InvalidData(from + ": the weights do not fit " + game.name + " (" + difference + "); " +
                     remedy);
}

}  // namespace murmurate
