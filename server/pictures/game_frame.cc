#include "server/pictures/game_frame.h"

namespace murmurate {

Canvas WithCaption(const GameFrame& frame) {
  Canvas whole(kPictureWidth, kPictureHeight + kCaptionHeight);
  whole.Put(frame.picture, 0, 0);
  whole.Rectangle({0, kPictureHeight}, kPictureWidth, kCaptionHeight, Color::kPanel);
  whole.Text({6, kPictureHeight + 5}, frame.caption, 1, Color::kLight);
  return whole;
}

}  // namespace murmurate
