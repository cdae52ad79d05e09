// PngFrames: a folder of frames, frame-000001.png and so on, one for each step, to make a film of:
//
//   ffmpeg -framerate 50 -i FOLDER/frame-%06d.png -pix_fmt yuv420p game.mp4
#pragma once

#include <memory>
#include <string>

#include "server/pictures/game_frame.h"

namespace murmurate {

/// A PNG file of the canvas: four bits a pixel, in its palette, not compressed (PNG, second edition;
/// stored blocks of RFC 1951).
std::string PngBytes(const Canvas& canvas);

class PngFrames : public FrameSink {
 public:
  /// Makes the folder where there is none. kInvalidArgument: it has frames already.
  static Result<std::unique_ptr<PngFrames>> Create(const std::string& folder);

  Status Add(const GameFrame& frame) override;
  Status Finish() override { return {}; }

 private:
  explicit PngFrames(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  int count_ = 0;
};

}  // namespace murmurate
