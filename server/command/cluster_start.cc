// `murmurate cluster start`: processes that go on when this one has ended.
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "server/command/cluster_command.h"
#include "server/daemon/detached.h"
#include "server/daemon/signals.h"
#include "server/operate/checkpoint.h"
#include "server/operate/run_directory.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr double kStartSeconds = 60.0, kEndSeconds = 10.0;
constexpr int kPollMs = 20, kPollAnswerMs = 200;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// The config of the cluster: its folder is runs/CONFIG-cluster where nothing else is said, so that
/// a run of `train` with the same config has a folder of its own.
Result<Config> LoadFor(const CommonArguments& common, const std::string& name) {
  auto source = FindConfig(name);
  if (!source.ok()) return source.status();
  auto config = Config::Load(*source, common.overrides);
  if (!config.ok()) return config.status();
  if (config->entries().values.at("run.name").origin != "the config's name") return config;
  std::vector<ConfigOverride> overrides = common.overrides;
  overrides.push_back({"run.name", '"' + source->stem + "-cluster\"", "cluster"});
  return Config::Load(*source, overrides);
}

/// A cluster that is there keeps its settings, whatever variables are set.
bool OnlyFromEnvironment(const CommonArguments& common) {
  return std::ranges::all_of(common.overrides, IsFromEnvironment, &ConfigOverride::origin);
}

Result<ClusterPlan> PlanToStart(const CommonArguments& common, const ClusterArguments& arguments) {
  auto config = LoadFor(common, arguments.what);
  if (config.ok()) return PlanCluster(*config, arguments.host);
  if (auto there = FindCluster(common, arguments); there.ok() && OnlyFromEnvironment(common))
    return there;
  return config.status();
}

std::vector<ClusterPart> PartsHere(const ClusterPlan& plan, bool shards) {
  std::vector<ClusterPart> parts;
  for (const ClusterPart& part : plan.parts)
    if (part.here && part.shard == shards) parts.push_back(part);
  return parts;
}

Status CheckFolder(const ClusterPlan& plan, bool runs, bool fresh) {
  const std::string name = NameInCommands(plan);
  if (fresh && runs)
    return InvalidArgument(plan.folder +
                           ": some of its parts run; end them first with `murmurate "
                           "cluster stop " +
                           name + "`");
  if (fresh) return {};
  if (!Exists(plan.config_path())) {
    if (!Exists(plan.folder + "/config.toml")) return {};
    return InvalidArgument(plan.folder +
                           ": holds a run that is no cluster; choose another name with --set "
                           "run.name=NAME");
  }
  const auto text = ReadFile(plan.config_path(), 1 << 20);
  if (!text.ok() || *text == plan.text) return text.status();
  if (runs)
    return InvalidArgument(
        plan.folder + ": runs with other settings; end it first with `murmurate cluster stop " +
        name + "`, or choose another name with --set run.name=NAME");
  return InvalidArgument(plan.folder +
                         ": holds a cluster with other settings; start afresh with --fresh (the "
                         "earlier one is kept as " +
                         plan.folder + ".1) or choose another name with --set run.name=NAME");
}

/// The words of a command as a shell takes them.
std::string Quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::strchr("_./:=,-+@%", c) != nullptr;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + '\'';
}

/// The same command, as it is typed on another host. Of variables it has the names: their values
/// may be secrets.
std::string CommandElsewhere(const ClusterArguments& arguments, const CommonArguments& common) {
  std::string command = "murmurate cluster start " + Quoted(arguments.what);
  std::string variables;
  for (const ConfigOverride& change : common.overrides) {
    if (IsFromEnvironment(change.origin)) {
      variables += (variables.empty() ? ", with " : ", ") + change.origin;
      continue;
    }
    command += ' ' + (change.origin != "--set" && change.origin.starts_with("--")
                          ? change.origin + ' ' + Quoted(change.value)
                          : "--set " + Quoted(change.path + '=' + change.value));
  }
  command += arguments.fresh ? " --fresh" : "";
  return command + variables + (variables.empty() ? "" : " set as here");
}

/// Starter starts parts and waits until they answer.
class Starter {
 public:
  Starter(bool quiet, Signals* signals) : quiet_(quiet), signals_(signals) {}

  void Say(const std::string& line) const {
    if (quiet_) return;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  /// Starts those of `parts` that do not run. The status: the first that could not begin.
  Status Start(const std::vector<ClusterPart>& parts) {
    std::vector<Started> waiting;
    for (const ClusterPart& part : parts) {
      if (StateOf(part, kPartAnswerMs).runs()) continue;
      auto arguments = ArgumentsFor(part);
      if (!arguments.ok()) return arguments.status();
      const auto pid = StartDetached(*arguments, part.output());
      if (!pid.ok()) return pid.status();
      waiting.push_back({part, *pid});
      started_.push_back(waiting.back());
    }
    return Await(std::move(waiting));
  }

  /// Ends what it has started; for a start that failed.
  void TakeBack() {
    End(false);
    End(true);
  }

  int up() const { return up_; }  ///< of what it has started, parts that answered

 private:
  struct Started {
    ClusterPart part;
    pid_t pid;
  };

  /// Ends what it has started of one kind, whether it has begun or not.
  void End(bool shards) {
    std::erase_if(started_, [](const Started& one) { return ExitCodeOf(one.pid).has_value(); });
    const auto ended = [&](const Started& one) {
      return one.part.shard != shards || ExitCodeOf(one.pid);
    };
    for (const Started& one : started_)
      if (one.part.shard == shards) kill(one.pid, SIGTERM);
    const std::int64_t deadline = MonotonicNs() + static_cast<std::int64_t>(kEndSeconds * 1e9);
    std::vector<Started> waiting = started_;
    while (std::erase_if(waiting, ended), !waiting.empty() && MonotonicNs() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const Started& one : waiting) kill(one.pid, SIGKILL);
    std::erase_if(started_, [&](const Started& one) { return one.part.shard == shards; });
  }

  /// A learner goes on from its checkpoint; one that left none begins anew, and its folder is kept.
  static Result<std::vector<std::string>> ArgumentsFor(const ClusterPart& part) {
    if (part.shard || !Exists(part.folder)) return part.arguments;
    if (!CheckpointSteps(part.folder).empty()) return ArgumentsToGoOn(part);
    std::error_code none;
    for (const char* left : {"/lock", "/address.json"}) fs::remove(part.folder + left, none);
    if (MoveAside(part.folder).empty())
      return ResourceError(part.folder + ": cannot be moved aside (" + std::strerror(errno) +
                           "); check the folder's permissions");
    return part.arguments;
  }

  Status Await(std::vector<Started> waiting) {
    const std::int64_t deadline = MonotonicNs() + static_cast<std::int64_t>(kStartSeconds * 1e9);
    while (!waiting.empty()) {
      for (auto one = waiting.begin(); one != waiting.end();) {
        const auto answered = HasBegun(*one);
        if (!answered.ok()) return answered.status();
        one = *answered ? waiting.erase(one) : one + 1;
      }
      if (waiting.empty()) break;
      if (MonotonicNs() > deadline)
        return ResourceError(waiting.front().part.name + ": has not answered within " +
                             std::to_string(static_cast<int>(kStartSeconds)) + " s" +
                             Last(waiting.front().part));
      if (signals_->Wait(kPollMs) == Signals::Event::kSignal)
        return ResourceError("interrupted; what this command had started was ended again");
    }
    return {};
  }

  /// True: it answers, or has ended well already.
  Result<bool> HasBegun(const Started& started) {
    const ClusterPart& part = started.part;
    if (const auto code = ExitCodeOf(started.pid)) {
      std::erase_if(started_, [&](const Started& one) { return one.pid == started.pid; });
      if (*code > 1)
        return ResourceError(part.name + ": could not begin (exit code " + std::to_string(*code) +
                             ")" + Last(part));
      Say(part.name + ": has ended" + Last(part));
      return true;
    }
    const PartState state = StateOf(part, kPollAnswerMs);
    if (state.life != PartLife::kUp) return false;
    Say(part.name + ": up, process " + std::to_string(state.pid) + ", " + state.address);
    ++up_;
    return true;
  }

  static std::string Last(const ClusterPart& part) {
    const std::string line = StateOf(part, 0).last_line;
    return line.empty() ? "; see " + part.output() : ": " + line;
  }

  const bool quiet_;
  Signals* const signals_;
  std::vector<Started> started_;
  int up_ = 0;
};

/// What is to be typed on the other hosts.
void SayElsewhere(const ClusterPlan& plan, const std::string& command, const Starter& starter) {
  std::set<std::string> hosts;
  for (const ClusterPart& part : plan.parts)
    if (!part.here && hosts.insert(part.host).second)
      starter.Say("on " + part.host + " type: " + command);
}

Status StartAll(const ClusterPlan& plan, Starter* starter) {
  const auto learners = PartsHere(plan, false);
  MURMURATE_RETURN_IF_ERROR(starter->Start(PartsHere(plan, true)));
  MURMURATE_RETURN_IF_ERROR(starter->Start(learners));
  const bool all_here = std::ranges::all_of(plan.parts, &ClusterPart::here);
  const bool none_left = std::ranges::none_of(
      learners, [](const ClusterPart& part) { return StateOf(part, kPartAnswerMs).runs(); });
  if (!all_here || !none_left) return {};
  EndParts(PartsHere(plan, true), kEndSeconds, [](const std::string&) {});
  starter->Say(plan.folder + ": all learners have ended, so nothing runs");
  return {};
}

}  // namespace

Result<int> RunClusterStart(const CommonArguments& common, const ClusterArguments& arguments) {
  auto plan = PlanToStart(common, arguments);
  if (!plan.ok()) return plan.status();
  const std::string command = CommandElsewhere(arguments, common);
  int here = 0, running = 0;
  for (const ClusterPart& part : plan->parts) {
    here += part.here ? 1 : 0;
    running += part.here && StateOf(part, kPartAnswerMs).runs() ? 1 : 0;
  }
  if (here == 0)
    return InvalidArgument(plan->folder + ": no part of it is on this host; type this on " +
                           plan->parts.front().host + ", or say with --host which one this is");
  MURMURATE_RETURN_IF_ERROR(CheckFolder(*plan, running > 0, arguments.fresh));
  if (running == here)
    return Status(StatusCode::kAlreadyRunning,
                  plan->folder + ": all " + std::to_string(here) +
                      " parts run already; see `murmurate cluster status " + NameInCommands(*plan) +
                      "`");
  if (arguments.fresh && Exists(plan->folder) && MoveAside(plan->folder).empty())
    return ResourceError(plan->folder + ": cannot be moved aside (" + std::strerror(errno) +
                         "); check the folder's permissions");
  const fs::path folder(plan->folder);
  auto lock = RunDirectory::Open(folder.parent_path().string(), folder.filename().string(),
                                 RunDirectory::WhenTaken::kGoOn);
  if (!lock.ok()) {
    if (lock.status().code() != StatusCode::kAlreadyRunning) return lock.status();
    return Status(
        StatusCode::kAlreadyRunning,
        plan->folder + ": another `murmurate cluster start` is at work here; wait for it");
  }
  MURMURATE_RETURN_IF_ERROR(lock->Write("cluster.toml", plan->text));
  Signals signals;
  Starter starter(common.quiet, &signals);
  if (Status status = StartAll(*plan, &starter); !status.ok()) {
    starter.TakeBack();
    return status;
  }
  SayElsewhere(*plan, command, starter);
  if (starter.up() > 0)
    starter.Say(plan->folder + ": started; `murmurate cluster status " + NameInCommands(*plan) +
                "` shows it, `murmurate cluster stop " + NameInCommands(*plan) + "` ends it");
  return 0;
}

}  // namespace murmurate
