// The built-in game that a run was trained on, for the commands that play it with the run's weights.
#pragma once

#include <memory>
#include <string>

#include "client/environments/environment.h"
#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"

namespace murmurate {

struct RunGame {
  std::string name;  ///< one of EnvironmentNames()
  std::unique_ptr<Environment> environment;
};

/// The game of the run's config with the config's options, its settings where a curriculum leads
/// them; or the game `name` with these, "" for none. kInvalidArgument: the run names no built-in
/// game; `remedy` then says what to do, after a semicolon.
Result<RunGame> MakeRunGame(const CommonArguments& common, const CheckpointSource& source,
                            const std::string& name, const std::string& remedy);

inline constexpr char kNameOwnWeights[] = "name the run's own weights";
/// kInvalidData when the game's spaces are not those of the weights; `remedy` then says what to do.
Status CheckGameFits(const RunGame& game, const ModelSpec& spec, const CheckpointSource& source,
                     const std::string& remedy = kNameOwnWeights);

}  // namespace murmurate
