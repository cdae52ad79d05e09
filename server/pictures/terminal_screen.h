// TerminalScreen: frames on the terminal of this process, as text pictures in its alternate screen.
// While one lives, keys come one by one and without echo (Ctrl-C is a signal as ever, Ctrl-Z does
// nothing); its end restores the terminal, the cursor and what was on the screen.
#pragma once

#include <termios.h>

#include <memory>
#include <string>
#include <vector>

#include "server/pictures/game_frame.h"
#include "server/pictures/text_picture.h"

namespace murmurate {

class TerminalScreen : public FrameSink {
 public:
  /// Whether stdin and stdout are a terminal that knows escape sequences (TERM is set, not dumb),
  /// and this process is in its foreground: the system stops others that change a terminal.
  static bool Suitable();
  /// `title`: a line above the pictures. Suitable() must be true.
  explicit TerminalScreen(std::string title);
  ~TerminalScreen() override;
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  /// Draws at once; of a terminal that was resized everything, else the lines that changed.
  Status Add(const GameFrame& frame) override;
  Status Finish() override { return {}; }
  /// Waits for a key for at most `timeout_ms`; 0: there was none. kUnavailable: the terminal has
  /// gone.
  Result<char> Key(int timeout_ms);

 private:
  Status Write(const std::string& text);

  const std::string title_;
  const ColorDepth depth_;
  termios before_{};
  int columns_ = 0, rows_ = 0;
  std::vector<std::string> shown_;  ///< the lines that are on the screen
};

}  // namespace murmurate
