// Pictures of the built-in games, one drawing a game. A new game gets a drawing (game_drawings.h,
// motion_drawings.h) and a line of the table in pictures.cc.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "client/environments/environment.h"
#include "server/pictures/canvas.h"

namespace murmurate {

/// What happened at the step that led to what is drawn.
struct Moment {
  const Action* action = nullptr;  ///< null before the first step of an episode
  double reward = 0;
  bool over = false;  ///< the episode's last picture
  std::optional<bool> success = {};
};

struct GamePicture {
  std::string_view game;    ///< a name of EnvironmentNames()
  double steps_per_second;  ///< at which it looks natural
  /// Draws on a canvas of kPictureWidth x kPictureHeight that is all background. `environment` is of
  /// that game, and may be wrapped.
  void (*draw)(const Environment& environment, const Moment& moment, Canvas* canvas);
};

/// Null: no game of that name.
const GamePicture* PictureOf(std::string_view game);

}  // namespace murmurate
