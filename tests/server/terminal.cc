#include "tests/server/terminal.h"

#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/server/process.h"

namespace murmurate {

Terminal::Terminal(const std::string& folder, const std::vector<std::string>& arguments,
                   Side side) {
  winsize size{.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = forkpty(&fd_, nullptr, nullptr, &size);
  if (pid_ != 0) return;
  if (chdir(folder.c_str()) != 0) _exit(126);
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  setenv("TERM", "xterm-256color", 1);
  setenv("COLORTERM", "truecolor", 1);
  unsetenv("NO_COLOR");
  std::vector<const char*> texts;
  if (side == Side::kBackground) texts = {"/bin/sh", "-c", R"(set -m; "$0" "$@" & wait $!)"};
  texts.push_back(MURMURATE_EXECUTABLE);
  for (const std::string& argument : arguments) texts.push_back(argument.c_str());
  std::vector<char*> words;
  for (const char* text : texts) words.push_back(const_cast<char*>(text));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

Terminal::~Terminal() {
  if (code_ < 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(fd_);
}

void Terminal::ReadFor(int milliseconds) {
  pollfd wait{fd_, POLLIN, 0};
  char bytes[65536];
  if (poll(&wait, 1, milliseconds) <= 0) return;
  const ssize_t got = read(fd_, bytes, sizeof bytes);
  if (got > 0) output_.append(bytes, static_cast<std::size_t>(got));
}

bool Terminal::Shows(const std::string& text, double seconds) {
  return Eventually(seconds, [&] {
    ReadFor(10);
    return output_.find(text) != std::string::npos;
  });
}

void Terminal::Type(const std::string& keys) const { (void)!write(fd_, keys.data(), keys.size()); }

void Terminal::Resize(int columns, int rows) const {
  const winsize size{.ws_row = static_cast<unsigned short>(rows),
                     .ws_col = static_cast<unsigned short>(columns),
                     .ws_xpixel = 0,
                     .ws_ypixel = 0};
  ioctl(fd_, TIOCSWINSZ, &size);
}

int Terminal::Wait(double seconds) {
  (void)Eventually(seconds, [&] {
    ReadFor(10);
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  });
  for (int i = 0; i < 20; ++i) ReadFor(5);
  return code_;
}

termios Terminal::settings() const {
  termios now{};
  tcgetattr(fd_, &now);
  return now;
}

}  // namespace murmurate
