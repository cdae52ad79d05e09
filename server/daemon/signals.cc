#include "server/daemon/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shared/core/check.h"

namespace murmurate {
namespace {

sigset_t SetOf(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

/// Lets a second signal end the process. The kernel signals the death of a parent (children.h) for
/// each of its threads, so it is first told that one was enough, and what came twice is dropped.
void LetASecondSignalEnd() {
  prctl(PR_SET_PDEATHSIG, 0);
  const sigset_t terminate = SetOf({SIGTERM});
  const timespec none{};
  while (sigtimedwait(&terminate, nullptr, &none) > 0) continue;
  const sigset_t set = SetOf({SIGINT, SIGTERM, SIGHUP});
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

Signals::Signals(Hangup on_hangup) : on_hangup_(on_hangup) {
  sigset_t set = SetOf({SIGINT, SIGTERM, SIGCHLD});
  if (on_hangup == Hangup::kIgnored) signal(SIGHUP, SIG_IGN);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // nohup keeps it out
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // ignored, our children could not be waited for
  signal_fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  MURMURATE_CHECK(signal_fd_ >= 0, "signalfd");
}

Signals::~Signals() { close(signal_fd_); }

Signals::Event Signals::Wait(int timeout_ms) {
  pollfd waits[2] = {{signal_fd_, POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
  if (poll(waits, 2, timeout_ms) <= 0) return Event::kTimeout;
  signalfd_siginfo info;
  if (read(signal_fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) return Event::kChild;
    if (info.ssi_signo == SIGHUP && on_hangup_ == Hangup::kTold) return Event::kHangup;
    if (on_hangup_ == Hangup::kTold) signal(SIGHUP, SIG_IGN);  // while the run ends
    LetASecondSignalEnd();
    return Event::kSignal;
  }
  wake_.Clear();
  return Event::kRequest;
}

void Signals::Request(RunEnd end) {
  {
    std::lock_guard lock(mutex_);
    if (!end_) end_ = end;
  }
  wake_.Set();
}

void Signals::RequestFailure(Status status, RunEnd end) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    if (!end_) end_ = end;
  }
  wake_.Set();
}

std::optional<RunEnd> Signals::requested() const {
  std::lock_guard lock(mutex_);
  return end_;
}

Status Signals::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace murmurate
