// The operating system's services that the client uses beside the rooms below; one source file a
// system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace murmurate {

std::uint32_t ProcessId();

/// Tells a forked child from the process that made this: one read of memory, no system call, no
/// handler that the host would keep.
class HomeProcess {
 public:
  HomeProcess();
  ~HomeProcess();
  HomeProcess(const HomeProcess&) = delete;
  HomeProcess& operator=(const HomeProcess&) = delete;

  bool left() const { return mark_ != nullptr ? *mark_ == 0 : ProcessId() != pid_; }
  std::uint32_t pid() const { return pid_; }

 private:
  /// A page that the kernel hands to children as zeros; null where it does not know how to.
  std::uint32_t* mark_ = nullptr;
  const std::uint32_t pid_;
};

/// Zeros that take no memory until they are written, small page by small page. Begins on the border
/// of a page.
class ZeroPages {
 public:
  explicit ZeroPages(std::size_t bytes);  ///< std::bad_alloc when there are no addresses for it
  ~ZeroPages();
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  const std::size_t bytes_;
};

/// The calling thread gives way to all others from now on, with a share that is small but certain.
void StandBehind();

/// Writes to stderr where that takes it at once; where it is closed, or a pipe that is full or that
/// is not read any more, nothing is written, and no signal is raised.
void WriteToStderr(std::string_view text);

/// Lets other threads run: our own threads only, never a game's.
void Nap(int microseconds);

}  // namespace murmurate
