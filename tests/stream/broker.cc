#include "tests/stream/broker.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr char kProgram[] = "/usr/sbin/mosquitto";

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Ended by the kernel when we die; what it says goes to `log`.
pid_t Spawn(std::vector<std::string> arguments, const std::string& log) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  signal(SIGPIPE, SIG_DFL);
  const int fd = open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

void Run(const std::vector<std::string>& arguments, const std::string& log) {
  int status = 0;
  waitpid(Spawn(arguments, log), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    ADD_FAILURE() << arguments[0] << " failed: " << Slurp(log);
  }
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

bool Listens(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const bool connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return connected;
}

}  // namespace

bool DriveUntil(double seconds, const std::function<bool()>& condition,
                const std::function<void()>& step) {
  const std::int64_t deadline =
      MonotonicNs() + static_cast<std::int64_t>(seconds * kNanosecondsPerSecond);
  while (!condition()) {
    if (MonotonicNs() > deadline) return false;
    step();
  }
  return true;
}

Certificates::Certificates() {
  const std::string log = Path("log");
  const auto make = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments{"openssl",  "req",
                                       "-x509",    "-newkey",
                                       "ec",       "-nodes",
                                       "-days",    "2",
                                       "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                       "-keyout",  Path(name + ".key"),
                                       "-out",     Path(name + ".pem")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Run(arguments, log);
  };
  make("ca", {"-subj", "/CN=test authority"});
  make("other-ca", {"-subj", "/CN=other authority"});
  const std::vector<std::string> signing{"-CA",     Path("ca.pem"),
                                         "-CAkey",  Path("ca.key"),
                                         "-addext", "basicConstraints=critical,CA:FALSE"};
  const auto signed_by_us = [&](std::vector<std::string> more) {
    more.insert(more.begin(), signing.begin(), signing.end());
    return more;
  };
  make("server", signed_by_us({"-subj", "/CN=server", "-addext",
                               "subjectAltName=IP:127.0.0.1,DNS:localhost"}));
  make("stranger",
       signed_by_us({"-subj", "/CN=stranger", "-addext", "subjectAltName=DNS:other.example"}));
  make("client", signed_by_us({"-subj", "/CN=client"}));
}

bool Broker::Installed() { return access(kProgram, X_OK) == 0; }

Broker::Broker(Options options) : options_(std::move(options)), port_(FreePort()) {
  if (options_.user.empty()) return;
  const std::string file = folder_.path() + "/users";
  Run({"mosquitto_passwd", "-b", "-c", file, options_.user, options_.password},
      folder_.path() + "/log");
}

std::string Broker::address() const {
  return (options_.secure != nullptr ? "mqtts://127.0.0.1:" : "mqtt://127.0.0.1:") +
         std::to_string(port_);
}

void Broker::WriteConfiguration() const {
  std::ofstream file(folder_.path() + "/mosquitto.conf");
  file << "listener " << port_ << " 127.0.0.1\n"
       << "persistence false\n";
  if (const passwd* us = getpwuid(getuid()); us != nullptr) file << "user " << us->pw_name << '\n';
  if (options_.user.empty()) {
    file << "allow_anonymous true\n";
  } else {
    file << "allow_anonymous false\npassword_file " << folder_.path() << "/users\n";
  }
  if (const Certificates* files = options_.secure; files != nullptr) {
    const std::string name = options_.certificate.substr(0, options_.certificate.rfind('.'));
    file << "cafile " << files->Path("ca.pem") << "\ncertfile " << files->Path(name + ".pem")
         << "\nkeyfile " << files->Path(name + ".key") << "\nrequire_certificate "
         << (options_.wants_client_certificate ? "true" : "false") << '\n';
  }
  for (const std::string& line : options_.lines) file << line << '\n';
}

bool Broker::Start() {
  WriteConfiguration();
  const std::string log = folder_.path() + "/log";
  pid_ = Spawn({kProgram, "-c", folder_.path() + "/mosquitto.conf"}, log);
  pollfd ended{static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  const bool listens = DriveUntil(
      20, [&] { return Listens(port_) || ended.revents != 0; }, [&] { poll(&ended, 1, 2); });
  close(ended.fd);
  if (listens && ended.revents == 0) return true;
  ADD_FAILURE() << "mosquitto does not listen on port " << port_ << ": " << Slurp(log);
  Kill();
  return false;
}

void Broker::End(int signal_number) {
  if (pid_ <= 0) return;
  kill(pid_, signal_number);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void Broker::Stop() { End(SIGTERM); }
void Broker::Kill() { End(SIGKILL); }

}  // namespace murmurate
