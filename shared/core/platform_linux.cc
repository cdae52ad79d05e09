#include <pthread.h>
#include <signal.h>

#include <utility>

#include "shared/core/platform.h"

namespace murmurate {
namespace {

/// Blocks the calling thread's signals while this lives; a thread it starts inherits that.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

std::thread StartThread(std::string name, std::function<void()> body) {
  const AllSignalsBlocked before_it_exists;
  return std::thread([name = std::move(name), body = std::move(body)] {
    pthread_setname_np(pthread_self(), name.c_str());
    body();
  });
}

}  // namespace murmurate
