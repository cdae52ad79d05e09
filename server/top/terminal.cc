#include "server/top/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "server/top/terminal_frame.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr char kCtrlC = 3, kCtrlZ = 26;

sigset_t Awaited() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT}) sigaddset(&set, number);
  return set;
}

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int PositiveOr(std::string_view text, int otherwise) {
  const int number = std::atoi(std::string(text).c_str());
  return number > 0 ? std::min(number, 10'000) : otherwise;
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::Open() {
  std::unique_ptr<Terminal> terminal(new Terminal);
  signal(SIGPIPE, SIG_IGN);
  const sigset_t set = Awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  terminal->signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  terminal->keys_ = isatty(STDIN_FILENO) != 0;
  MURMURATE_RETURN_IF_ERROR(terminal->Enter());
  return terminal;
}

Terminal::~Terminal() {
  Leave();
  if (signal_fd_ >= 0) close(signal_fd_);
}

Status Terminal::Enter() {
  if (keys_ && tcgetattr(STDIN_FILENO, &before_) == 0) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  entered_ = true;
  return Write(kEnterScreen);
}

void Terminal::Leave() {
  if (!std::exchange(entered_, false)) return;
  (void)Write(kLeaveScreen);
  if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

/// Stops this process as Ctrl+Z does elsewhere, until a shell continues it.
void Terminal::Suspend() {
  Leave();
  raise(SIGSTOP);
  (void)Enter();
}

Status Terminal::Write(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (written >= 0) {
      at += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {  // a terminal that other programs made non-blocking
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      if (poll(&ready, 1, 1000) <= 0) return ResourceError("the terminal takes no more");
    } else if (errno != EINTR) {
      return ResourceError(std::string("the terminal has gone: ") + std::strerror(errno));
    }
  }
  return {};
}

Terminal::Happened Terminal::ReadSignal() {
  signalfd_siginfo info{};
  if (read(signal_fd_, &info, sizeof info) != sizeof info) return {};
  const auto number = static_cast<int>(info.ssi_signo);
  return {number == SIGWINCH || number == SIGCONT ? Event::kResized : Event::kEnd};
}

Terminal::Happened Terminal::ReadKey() {
  char key = 0;
  const ssize_t count = read(STDIN_FILENO, &key, 1);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (count <= 0 || key == kCtrlC) return {Event::kEnd};
  if (key != kCtrlZ) return {Event::kKey, key};
  Suspend();
  return {Event::kResized};
}

Terminal::Happened Terminal::Wait(int timeout_ms) {
  pollfd fds[] = {{signal_fd_, POLLIN, 0}, {wake_.fd(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  const nfds_t count = keys_ ? 3 : 2;
  if (poll(fds, count, timeout_ms) <= 0) return {};
  if (fds[0].revents != 0) return ReadSignal();
  if (keys_ && fds[2].revents != 0) return ReadKey();
  wake_.Clear();
  return {};
}

TopSize Terminal::SizeOf() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
    return {size.ws_col, size.ws_row};
  return {PositiveOr(Variable("COLUMNS"), 80), PositiveOr(Variable("LINES"), 24)};
}

bool Terminal::Suitable() {
  const std::string_view terminal = Variable("TERM");
  return isatty(STDOUT_FILENO) != 0 && !terminal.empty() && terminal != "dumb";
}

bool Terminal::WantsColour() { return Variable("NO_COLOR").empty(); }

Glyphs Terminal::GlyphsOfLocale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(Variable(name));
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool utf8 = locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
    return utf8 ? Glyphs::kBraille : Glyphs::kAscii;
  }
  return Glyphs::kAscii;
}

}  // namespace murmurate
