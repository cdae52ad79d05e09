#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "client/platform.h"

namespace murmurate {

std::uint32_t ProcessId() { return static_cast<std::uint32_t>(getpid()); }

HomeProcess::HomeProcess() : pid_(ProcessId()) {
  const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page =
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, page_bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, page_bytes);
    return;
  }
  mark_ = static_cast<std::uint32_t*>(page);
  *mark_ = 1;
}

HomeProcess::~HomeProcess() {
  if (mark_ != nullptr) munmap(mark_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

ZeroPages::ZeroPages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  // One byte written would else take 2 MiB where huge pages are always on.
  (void)madvise(pages, bytes, MADV_NOHUGEPAGE);
  data_ = static_cast<std::byte*>(pages);
}

ZeroPages::~ZeroPages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void StandBehind() {
  // Not SCHED_IDLE: it would have no turn at all on a machine whose processors are all busy.
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
}

void WriteToStderr(std::string_view text) {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0 || (ready.revents & POLLERR) != 0) {
    return;
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void Nap(int microseconds) {
  const timespec duration{0, microseconds * 1000L};
  nanosleep(&duration, nullptr);
}

}  // namespace murmurate
