// Terminal: the terminal that a program draws on as a whole: keys come one by one, unseen, on
// another screen than the one with the user's lines. It is given back as it was when this is
// destroyed, and while the program is suspended (Ctrl+Z).
//
// Made before any other thread, so that no thread but the one that waits sees a signal. One thread,
// but for Wake.
#pragma once

#include <termios.h>

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/top/top_line.h"
#include "shared/transport/socket.h"

namespace murmurate {

class Terminal {
 public:
  enum class Event : std::uint8_t {
    kWoken,    ///< Wake was called, or time is over
    kKey,      ///< `key` was pressed
    kResized,  ///< or all of it is to be drawn anew
    kEnd,      ///< SIGINT, SIGTERM or SIGHUP, Ctrl+C, or the terminal has gone
  };
  struct Happened {
    Event event = Event::kWoken;
    char key = 0;
  };

  /// Takes over the terminal of stdout; keys come from stdin if that is a terminal, too.
  /// kResource: it cannot be written to.
  static Result<std::unique_ptr<Terminal>> Open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  TopSize size() const { return SizeOf(); }
  /// Writes all of it. kResource: the terminal has gone.
  Status Write(const std::string& text);
  Happened Wait(int timeout_ms);
  void Wake() { wake_.Set(); }  ///< any thread
  /// Gives the terminal back now, for good.
  void GiveBack() { Leave(); }

  /// Of the terminal of stdout; where that says none, of COLUMNS and LINES, or 80 x 24.
  static TopSize SizeOf();
  /// Stdout is a terminal that moves its cursor (TERM is set, and not "dumb").
  static bool Suitable();
  /// Styles may have colours (no-color.org: NO_COLOR is not set).
  static bool WantsColour();
  /// What the locale's encoding shows: LC_ALL, LC_CTYPE or LANG names UTF-8.
  static Glyphs GlyphsOfLocale();

 private:
  Terminal() = default;
  Status Enter();
  void Leave();
  void Suspend();
  Happened ReadKey();
  Happened ReadSignal();

  WakeSignal wake_;
  int signal_fd_ = -1;
  bool entered_ = false, keys_ = false;
  termios before_{};
};

}  // namespace murmurate
