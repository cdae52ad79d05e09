#include "tests/server/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Redirect(const std::string& path, int to) {
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(fd, to);
  close(fd);
}

}  // namespace

const std::vector<std::string> kGame{MURMURATE_EXAMPLES "/game/game"};
const std::vector<std::string> kGameInC{MURMURATE_EXAMPLES "/game/game_c"};
std::vector<std::string> ActorProgram(const std::string& name) {
  return {MURMURATE_EXAMPLES "/actors/" + name};
}

bool Eventually(double seconds, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return true;
}

bool Lives(pid_t pid) {
  const std::string stat = Slurp("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t at = stat.rfind(") ");
  return at != std::string::npos && stat[at + 2] != 'Z';
}

std::vector<pid_t> Process::Children() const {
  const std::string pid = std::to_string(pid_);
  std::istringstream list(Slurp("/proc/" + pid + "/task/" + pid + "/children"));
  std::vector<pid_t> children;
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

Process::Process(const std::string& folder, std::vector<std::string> arguments,
                 const std::vector<std::string>& prefix) {
  static std::atomic<int> count{0};
  const std::string base = folder + "/process-" + std::to_string(++count);
  output_ = base + ".out";
  errors_ = base + ".err";
  const bool instead = !prefix.empty() && prefix.back().starts_with(MURMURATE_EXAMPLES);
  if (!instead) arguments.insert(arguments.begin(), MURMURATE_EXECUTABLE);
  arguments.insert(arguments.begin(), prefix.begin(), prefix.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || chdir(folder.c_str()) != 0) _exit(126);
  setenv("XDG_RUNTIME_DIR", (folder + "/run").c_str(), 1);
  unsetenv("TERM");
  Redirect(output_, STDOUT_FILENO);
  Redirect(errors_, STDERR_FILENO);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

Process::~Process() {
  if (!running()) return;
  kill(pid_, SIGCONT);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Process::running() {
  if (code_ >= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

int Process::Wait(double seconds) {
  Eventually(seconds, [this] { return !running(); });
  return code_;
}

std::string Process::Output() const { return Slurp(output_); }
std::string Process::Errors() const { return Slurp(errors_); }

bool Process::Says(const std::string& text, double seconds) {
  return Eventually(seconds, [&] { return (Output() + Errors()).find(text) != std::string::npos; });
}

Ran RunMurmurate(const std::string& folder, std::vector<std::string> arguments, double seconds) {
  Process process(folder, std::move(arguments));
  const int code = process.Wait(seconds);
  return {code, process.Output(), process.Errors()};
}

Workplace::Workplace() {
  std::string name = "/tmp/mmr-XXXXXX";  // short: socket paths have 107 bytes
  path_ = mkdtemp(name.data());
  fs::create_directory(path_ + "/run");
  fs::permissions(path_ + "/run", fs::perms::owner_all);
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Workplace::Write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ + '/' + name) << text;
  return path_ + '/' + name;
}

std::string Workplace::Read(const std::string& name) const { return Slurp(path_ + '/' + name); }
bool Workplace::Has(const std::string& name) const { return fs::exists(path_ + '/' + name); }

std::string Workplace::LeftBehind() const {
  std::string left;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(path_ + "/run", ignored))
    if (!entry.is_directory()) left += entry.path().string() + ' ';
  for (const auto& entry : fs::recursive_directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename();
    if (name == "lock" || name == "address.json" || name.starts_with(".tmp"))
      left += entry.path().string() + ' ';
  }
  return left;
}

std::vector<pid_t> ProcessesOf(const Workplace& place, const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    if (fs::read_symlink(entry.path() / "cwd", gone) != fs::path(place.path())) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

std::string UniqueRun() {
  static int count = 0;
  return std::string("t")
      .append(std::to_string(getpid()))
      .append("x")
      .append(std::to_string(++count));
}

int SegmentsOf(const std::string& run) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev/shm", ignored))
    count += entry.path().filename().string().find('-' + run + '-') != std::string::npos;
  return count;
}

}  // namespace murmurate
