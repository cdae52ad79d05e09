// GifFile: frames as an animated GIF (GIF89a) that repeats for ever. Of each frame the smallest
// rectangle that has all changes is written, in one palette for all frames, so a game of 500 steps
// takes a megabyte or less. The encoder is this file and lzw.h: a canvas has a fixed palette, which
// leaves less to do than a library would ask for.
//
// GIF counts time in hundredths of a second, and viewers show frames of less than two of them
// slowly: a frame that would be shorter gives its time to the next one, and the time of all is kept.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/pictures/game_frame.h"

namespace murmurate {

class GifFile : public FrameSink {
 public:
  /// Replaces a file that is there. kResource: it cannot be written.
  static Result<std::unique_ptr<GifFile>> Create(const std::string& path);

  Status Add(const GameFrame& frame) override;
  Status Finish() override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  GifFile(std::string path, std::FILE* file);
  void Begin();
  void Write(const std::string& bytes);
  /// Writes the frame that waits, which is shown until `end_s` of the whole.
  void WriteWaiting(double end_s);
  Status status() const;

  const std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  int error_ = 0;                    ///< errno of the first failure to write
  std::optional<Canvas> waiting_;    ///< its duration is known when the next one comes
  std::vector<std::uint8_t> shown_;  ///< the pixels of the frames written so far
  double time_s_ = 0;                ///< of all frames that were added
  long written_hundredths_ = 0;      ///< of all frames that were written
};

}  // namespace murmurate
