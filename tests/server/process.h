// Process: a child of one test: started with its output in files, waited for with a deadline, and
// ended by its own pid whatever the test does.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace murmurate {

/// Polls `condition` every few milliseconds until it holds or `seconds` have passed.
bool Eventually(double seconds, const std::function<bool()>& condition);

/// As the prefix of a Process: runs examples/game, its C twin, or examples/actors/NAME, instead.
extern const std::vector<std::string> kGame, kGameInC;
std::vector<std::string> ActorProgram(const std::string& name);

/// False when it is gone or a zombie.
bool Lives(pid_t pid);

class Process {
 public:
  /// Runs the `murmurate` under test with `arguments` in `folder`, which also becomes
  /// XDG_RUNTIME_DIR's parent: no other learner is seen. `prefix` goes before it ("unshare", "-m",
  /// ...).
  Process(const std::string& folder, std::vector<std::string> arguments,
          const std::vector<std::string>& prefix = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The exit code (128 + signal when a signal ended it), or -1 when it still runs after `seconds`.
  int Wait(double seconds);
  void Send(int signal_number) const { kill(pid_, signal_number); }
  bool running();
  std::string Output() const;                               ///< stdout so far
  std::string Errors() const;                               ///< stderr so far
  bool Says(const std::string& text, double seconds = 20);  ///< on either
  pid_t pid() const { return pid_; }
  std::vector<pid_t> Children() const;  ///< of its main thread

 private:
  std::string output_, errors_;
  pid_t pid_ = -1;
  int code_ = -1;
};

/// Starts, waits, and gives exit code and both outputs.
struct Ran {
  int code = -1;
  std::string output, errors;
};
Ran RunMurmurate(const std::string& folder, std::vector<std::string> arguments,
                 double seconds = 20);

/// A folder of the test's own: working folder and runtime folder of the processes it starts.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const;  ///< its path
  std::string Read(const std::string& name) const;                            ///< "" when missing
  bool Has(const std::string& name) const;
  /// What processes of murmurate left behind in the runtime folder and as run locks; "" when clean.
  std::string LeftBehind() const;

 private:
  std::string path_;
};

/// Processes that work in the folder of `place` and whose command line holds `text`.
std::vector<pid_t> ProcessesOf(const Workplace& place, const std::string& text = "");

/// A run's name that no other test has.
std::string UniqueRun();
/// Segments in /dev/shm of the run of that name (and its NAME-2...), of the living or the dead.
int SegmentsOf(const std::string& run);

}  // namespace murmurate
