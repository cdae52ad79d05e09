// Terminal: runs murmurate on a pseudo-terminal, as a person at a keyboard has it.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <string>
#include <vector>

namespace murmurate {

class Terminal {
 public:
  enum class Side { kForeground, kBackground };
  /// Runs the `murmurate` under test with `arguments` in `folder`, on a terminal of 100 x 30 cells;
  /// in its background as a shell that controls jobs runs `murmurate ... &`.
  Terminal(const std::string& folder, const std::vector<std::string>& arguments,
           Side side = Side::kForeground);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Reads until the output holds `text`; false after `seconds`.
  bool Shows(const std::string& text, double seconds = 20);
  void Type(const std::string& keys) const;
  void Resize(int columns, int rows) const;
  /// Reads on until it has ended; the exit code, or -1 after `seconds`.
  int Wait(double seconds = 20);
  const std::string& output() const { return output_; }
  termios settings() const;

 private:
  void ReadFor(int milliseconds);

  int fd_ = -1;
  pid_t pid_ = -1;
  int code_ = -1;
  std::string output_;
};

}  // namespace murmurate
