// `murmurate top` on a pseudo-terminal beside a real learner with a slow actor.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "server/top/terminal_frame.h"
#include "server/top/text_columns.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// `murmurate top` with a terminal of its own.
class Watcher {
 public:
  Watcher(const Workplace& place, winsize size, std::vector<const char*> variables = {}) {
    pid_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      if (chdir(place.path().c_str()) != 0) _exit(126);
      setenv("XDG_RUNTIME_DIR", (place.path() + "/run").c_str(), 1);
      setenv("TERM", "xterm", 1);
      setenv("LC_ALL", "C.UTF-8", 1);
      unsetenv("NO_COLOR");
      for (const char* variable : variables) putenv(const_cast<char*>(variable));
      execl(MURMURATE_EXECUTABLE, MURMURATE_EXECUTABLE, "top", "runs/t", nullptr);
      _exit(127);
    }
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    tcgetattr(fd_, &before_);
  }
  ~Watcher() {
    if (code_ < 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    HangUp();
  }

  /// All that was drawn so far.
  const std::string& Read() {
    char bytes[1 << 14];
    for (ssize_t got; fd_ >= 0 && (got = read(fd_, bytes, sizeof bytes)) > 0;)
      all_.append(bytes, static_cast<std::size_t>(got));
    return all_;
  }
  /// The lines of the newest whole frame, without control sequences; empty before the first.
  std::vector<std::string> Frame() {
    const std::string& all = Read();
    const std::string begin = "\x1b[?2026h\x1b[H", end = "\x1b[?2026l";
    const std::size_t to = all.rfind(end);
    const std::size_t from = to == all.npos ? all.npos : all.rfind(begin, to);
    if (from == all.npos) return {};
    std::string text = all.substr(from + begin.size(), to - from - begin.size());
    text = std::regex_replace(text, std::regex("\x1b\\[[0-9;]*[mK]|\r"), "");
    std::vector<std::string> lines;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t line_end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, line_end - at));
      at = line_end + 1;
    }
    return lines;
  }
  bool Shows(const std::string& words, double seconds = 20) {
    return Eventually(seconds, [&] {
      for (const std::string& line : Frame())
        if (line.find(words) != line.npos) return true;
      return false;
    });
  }
  void Press(char key) { ASSERT_EQ(write(fd_, &key, 1), 1); }
  void Resize(winsize size) { ioctl(fd_, TIOCSWINSZ, &size); }
  void Send(int number) const { kill(pid_, number); }
  void HangUp() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  /// The exit code (128 + a signal's number); -1: it still runs.
  int Wait(double seconds = 10) {
    Eventually(seconds, [this] {
      int status = 0;
      Read();
      if (code_ >= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return code_ >= 0;
      code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      return true;
    });
    Read();
    return code_;
  }
  /// The terminal is as it was before: another screen, cursor, echo and lines.
  void ExpectRestored() {
    EXPECT_THAT(Read(), HasSubstr(kLeaveScreen));
    EXPECT_EQ(Read().find("\x1b[H", Read().rfind(kLeaveScreen)), std::string::npos);
    termios now{};
    ASSERT_EQ(tcgetattr(fd_, &now), 0);
    EXPECT_EQ(now.c_lflag, before_.c_lflag);
    EXPECT_EQ(now.c_iflag, before_.c_iflag);
  }

 private:
  int fd_ = -1, code_ = -1;
  pid_t pid_ = -1;
  std::string all_;
  termios before_{};
};

constexpr winsize kWide{.ws_row = 30, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
constexpr winsize kSmall{.ws_row = 12, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};

class TopRun : public testing::Test {
 protected:
  TopRun()
      : learner_(place_.path(),
                 {"serve",
                  place_.Write("t.toml",
                               "[run]\nname = \"t\"\nlog_interval_s = 1\n[server]\nlisten = "
                               "[\"ipc://" +
                                   place_.path() +
                                   "/l\"]\n[page]\nlisten = \"off\"\n"
                                   "[algorithm]\nbatch_steps = 256\ntrajectory_length = 32\n")}) {
    EXPECT_TRUE(learner_.Says("murmurate serves")) << learner_.Errors();
    actor_.emplace(
        place_.path(),
        std::vector<std::string>{"actor", "cartpole", "--connect", "ipc://" + place_.path() + "/l",
                                 "--name", "slow", "--agents", "8", "--step_ms", "4"});
  }
  Workplace place_;
  Process learner_;
  std::optional<Process> actor_;
};

TEST_F(TopRun, ShowsTheRunInEverySizeAndEndsWithTheLearner) {
  Watcher top(place_, kWide);
  ASSERT_TRUE(top.Shows("steps/s")) << top.Read();
  ASSERT_TRUE(top.Shows("slow ")) << top.Read();
  ASSERT_TRUE(top.Shows(" 1 live actors"));
  ASSERT_TRUE(top.Shows("\u2809", 20)) << "dots of a curve, after the second row: " << top.Read();
  EXPECT_EQ(top.Frame().size(), 30u);
  kill(learner_.pid(), SIGSTOP);  // it has no news any more: what is drawn is drawn for the size
  top.Resize(kSmall);
  EXPECT_TRUE(Eventually(1.5, [&] { return top.Frame().size() == 12; }));
  for (const std::string& line : top.Frame()) EXPECT_LE(ColumnsOf(line), 40) << line;
  EXPECT_TRUE(top.Shows("it is alive, but has not ans", 10));
  kill(learner_.pid(), SIGCONT);
  ASSERT_TRUE(
      Eventually(10, [&] { return top.Frame().size() == 12 && !top.Shows("it is alive", 0); }));
  kill(learner_.pid(), SIGKILL);
  EXPECT_EQ(top.Wait(), 0);
  top.ExpectRestored();
  EXPECT_THAT(top.Read(), HasSubstr("/runs/t has ended"));
}

TEST_F(TopRun, EveryEndGivesTheTerminalBack) {
  for (const char key : {'q', '\x03'}) {
    Watcher top(place_, kWide);
    ASSERT_TRUE(top.Shows("steps/s")) << top.Read();
    top.Press(key);
    EXPECT_EQ(top.Wait(), 0) << static_cast<int>(key);
    top.ExpectRestored();
  }
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    Watcher top(place_, kWide);
    ASSERT_TRUE(top.Shows("steps/s")) << top.Read();
    top.Send(number);
    EXPECT_EQ(top.Wait(), 0) << number;
    top.ExpectRestored();
  }
  Watcher gone(place_, kWide);
  ASSERT_TRUE(gone.Shows("steps/s"));
  gone.HangUp();
  EXPECT_EQ(gone.Wait(), 0) << "a terminal that was closed ends it";
}

TEST_F(TopRun, WithoutColourOrATerminalThereIsNone) {
  {
    Watcher top(place_, kWide, {"NO_COLOR=1"});
    ASSERT_TRUE(top.Shows("slow "));
    EXPECT_FALSE(std::regex_search(top.Read(), std::regex("\x1b\\[3[0-9]m")));
    top.Press('q');
    EXPECT_EQ(top.Wait(), 0);
  }
  {
    Watcher top(place_, kWide);
    ASSERT_TRUE(top.Shows("slow "));
    EXPECT_TRUE(std::regex_search(top.Read(), std::regex("\x1b\\[3[0-9]m")));
  }
  const Ran once = RunMurmurate(place_.path(), {"top", "t"});
  EXPECT_EQ(once.code, 0) << once.errors;
  EXPECT_THAT(once.output, HasSubstr("steps/s"));
  EXPECT_THAT(once.output, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::ranges::count(once.output, '\x1b'), 0);
  EXPECT_LE(std::ranges::count(once.output, '\n'), 24);
}

TEST(TopCommand, WithoutALearnerItEndsAsStatusDoes) {
  const Workplace place;
  const Ran top = RunMurmurate(place.path(), {"top"}),
            status = RunMurmurate(place.path(), {"status"});
  EXPECT_EQ(top.code, status.code);
  EXPECT_NE(top.code, 0);
  EXPECT_EQ(top.errors, status.errors);
  EXPECT_THAT(top.errors, HasSubstr("no learner is running; start one with `murmurate serve`"));
}

}  // namespace
}  // namespace murmurate
