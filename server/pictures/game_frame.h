// A GameFrame is one picture of a game that is played; a FrameSink is where frames go: a terminal, a
// GIF file, a folder of PNG files. A new sink is a class of its own, made by `murmurate play`.
#pragma once

#include <string>

#include "murmurate/status.h"
#include "server/pictures/canvas.h"

namespace murmurate {

inline constexpr int kPictureWidth = 320, kPictureHeight = 240;
/// Of the strip below a picture that has its caption.
inline constexpr int kCaptionHeight = 16;

struct GameFrame {
  Canvas picture{kPictureWidth, kPictureHeight};
  std::string caption;  ///< "step 12  reward 1.000  return 12.000"
  double seconds = 0;   ///< how long it is shown
};

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual Status Add(const GameFrame& frame) = 0;
  /// After the last frame; the status of what could not be written.
  virtual Status Finish() = 0;
};

/// The picture and, below it, its caption: kPictureHeight + kCaptionHeight rows.
Canvas WithCaption(const GameFrame& frame);

}  // namespace murmurate
