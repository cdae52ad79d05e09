// RunDirectory: runs/NAME, held by one process at a time.
//
//   config.toml (resolved)  address.json (while it runs)  lock (while it runs, flock)  command.txt
//   version.json  progress.csv  log.txt  plots/  checkpoints/  device_plans.json (on a GPU)
//   models/NAME/ (a second model's files)  and what the sinks write (server/metrics/metric_sink.h)
//
// Never overwritten silently: a taken name is refused, moved aside (`--fresh`), or avoided
// (NAME-2).
#pragma once

#include <string>

#include "murmurate/status.h"

namespace murmurate {

class RunDirectory {
 public:
  enum class WhenTaken {
    kRefuse,    ///< kInvalidArgument that says what to do
    kNextName,  ///< NAME-2, NAME-3, ...
    kFresh,     ///< the earlier run becomes NAME.1, NAME.2, ...
    kGoOn,      ///< an earlier run is what is wanted
  };
  /// Makes DIR/NAME and takes its lock; kAlreadyRunning names the process that holds it.
  static Result<RunDirectory> Open(const std::string& dir, const std::string& name,
                                   WhenTaken when_taken);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  /// Removes address.json and the lock, if they are still ours.
  ~RunDirectory();

  /// Who holds the lock of `folder`, as the lock file says; 0: no process.
  static int HolderOf(const std::string& folder);
  /// kResource when the folder was removed, or another put in its place, since Open.
  Status StillThere() const;

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }  ///< with the number it got
  /// Whole files, atomically.
  Status Write(const std::string& file, const std::string& text) const;
  /// The folder of a further model's files, made when missing: models/NAME.
  Result<std::string> ModelFolder(const std::string& model) const;

 private:
  RunDirectory(std::string path, std::string name, int lock_fd)
      : path_(std::move(path)), name_(std::move(name)), lock_fd_(lock_fd) {}
  std::string path_, name_;
  int lock_fd_ = -1;
};

/// Renames a run's folder to PATH.1, PATH.2, ..., the first that is free: that name, or "" (errno
/// says why).
std::string MoveAside(const std::string& path);

}  // namespace murmurate
