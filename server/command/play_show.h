// PlayShow: where the frames of `murmurate play` go: the terminal, at the game's pace, and files, as
// fast as they can be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/daemon/signals.h"
#include "server/pictures/game_frame.h"
#include "server/pictures/terminal_screen.h"

namespace murmurate {

struct PlayShowOptions {
  std::string title;
  bool terminal = false;  ///< TerminalScreen::Suitable() is true
  std::string gif;        ///< "": no file
  std::string frames;     ///< "": no folder
};

class PlayShow {
 public:
  static Result<std::unique_ptr<PlayShow>> Open(const PlayShowOptions& options);

  /// Takes a frame, and on a terminal waits until it has been shown; one that comes late is not
  /// drawn. False: the person (q) or a signal wants the end.
  Result<bool> Add(const GameFrame& frame);
  /// Restores the terminal and finishes the files.
  Status Finish();

 private:
  PlayShow() = default;
  Result<bool> ShowOnScreen(const GameFrame& frame);
  bool EndWasAsked();

  Signals signals_;
  std::vector<std::unique_ptr<FrameSink>> files_;
  std::unique_ptr<TerminalScreen> screen_;
  std::int64_t due_ns_ = 0;  ///< when the next frame is to be shown
};

}  // namespace murmurate
