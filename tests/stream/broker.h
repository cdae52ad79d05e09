// Broker: a mosquitto of a test's own, on a free loopback port, with its configuration in a
// temporary folder. It is ended with the object, and by the kernel when the test dies.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/operate/temporary_folder.h"

namespace murmurate {

/// Runs `step` until `condition` holds; false when it does not within `seconds`. `step` waits a
/// little itself (PollOnce).
bool DriveUntil(double seconds, const std::function<bool()>& condition,
                const std::function<void()>& step);

/// Certificates of one authority, and another authority's: ca.pem, server.pem (for 127.0.0.1 and
/// localhost), client.pem, other-ca.pem, stranger.pem (for other.example), each with a .key.
class Certificates {
 public:
  Certificates();
  std::string Path(const std::string& name) const { return folder_.path() + '/' + name; }

 private:
  TemporaryFolder folder_;
};

class Broker {
 public:
  struct Options {
    std::string user, password;              ///< empty: anybody
    const Certificates* secure = nullptr;    ///< TLS
    std::string certificate = "server.pem";  ///< of them
    bool wants_client_certificate = false;
    std::vector<std::string> lines;  ///< more of mosquitto.conf
  };

  /// Whether this machine has the program; if not, a test is skipped with kMissing.
  static bool Installed();
  static constexpr char kMissing[] =
      "the program mosquitto is not installed (apt-get install mosquitto)";

  /// Chooses the port; does not start.
  Broker() : Broker(Options()) {}
  explicit Broker(Options options);
  ~Broker() { Kill(); }
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  /// Returns when it listens; false, with what it said as a failure, when it does not.
  bool Start();
  void Stop();  ///< SIGTERM: it says goodbye to its clients
  void Kill();  ///< SIGKILL
  bool Restart() {
    Kill();
    return Start();
  }

  int port() const { return port_; }
  std::string address() const;
  pid_t pid() const { return pid_; }

 private:
  void WriteConfiguration() const;
  void End(int signal_number);

  const Options options_;
  TemporaryFolder folder_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace murmurate
