#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "server/command/command_line.h"
#include "server/operate/admin.h"
#include "server/operate/run_directory.h"
#include "server/operate/status_report.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr int kAnswerMs = 2000;

/// A shard answers the same questions.
struct Learner {
  std::string name, admin;
  int pid = 0;
  std::string folder = {};  ///< "" when only its process is known
};

bool Lives(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

Result<Learner> LearnerOf(const std::string& folder) {
  const Status none =
      InvalidArgument(folder +
                      ": no learner is running here; start one with `murmurate serve`, or see "
                      "what runs with `murmurate status`");
  auto text = ReadFile(folder + "/address.json", 1 << 16);
  if (!text.ok()) return none;
  const auto address = nlohmann::json::parse(*text, nullptr, false);
  if (!address.is_object() || !address.contains("admin") || !address["admin"].is_string() ||
      !address.contains("pid") || !address["pid"].is_number_integer())
    return InvalidData(folder +
                       "/address.json: cannot be read; remove it when no learner runs here");
  Learner learner{folder, address["admin"], address["pid"], folder};
  return Lives(learner.pid) ? Result<Learner>(learner) : Result<Learner>(none);
}

/// Process ids are the folder names of runtime folders: ipc://.../PID/admin.
int PidOf(const std::string& admin) {
  return std::atoi(fs::path(admin.substr(6)).parent_path().filename().c_str());
}

/// "runs/serve: alive (lock held by process 71), busy: ..." of one that is there and has not
/// answered; "" when it is gone.
std::string Busy(const Learner& learner) {
  const int holder = learner.folder.empty() ? 0 : RunDirectory::HolderOf(learner.folder);
  if (learner.folder.empty() ? !Lives(learner.pid) : holder == 0) return "";
  const std::string lock =
      holder == 0 ? "" : " (lock held by process " + std::to_string(holder) + ")";
  return learner.name + ": alive" + lock + ", busy: it has not answered within " +
         std::to_string(kAnswerMs / 1000) + " s; ask again";
}

/// Asks, and says in words that tell a busy learner from one that is gone what became of it.
Result<std::string> Ask(const Learner& learner, const std::string& question) {
  auto answer = AskAdmin(learner.admin, question, kAnswerMs);
  if (answer.status().code() != StatusCode::kUnavailable) return answer;
  if (const std::string busy = Busy(learner); !busy.empty()) return Unavailable(busy);
  return answer;
}

std::string RunsFolder(const CommonArguments& common) {
  std::string dir = "runs";
  for (const ConfigOverride& change : common.overrides)
    if (change.path == "run.dir") dir = change.value;
  return dir;
}

/// Those among `addresses` whose runs lie in this folder.
std::vector<Learner> LearnersIn(const std::string& dir, const std::vector<std::string>& addresses) {
  std::vector<Learner> here;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const auto learner = LearnerOf(entry.path().string());
    if (learner.ok() && std::ranges::find(addresses, learner->admin) != addresses.end())
      here.push_back(*learner);
  }
  return here;
}

/// The one learner that runs, or of several the one whose run lies in `dir`, where a user who names
/// none stands; shards are meant only where no learner runs.
Result<Learner> TheOnlyLearner(const std::string& dir) {
  auto addresses = LiveAdminAddresses();
  const bool shards = addresses.empty();
  if (shards) addresses = LiveAdminAddresses(kShardSocket);
  if (addresses.empty())
    return InvalidArgument("no learner is running; start one with `murmurate serve`");
  if (addresses.size() == 1)
    return Learner{"process " + std::to_string(PidOf(addresses[0])), addresses[0],
                   PidOf(addresses[0])};
  if (const auto here = LearnersIn(dir, addresses); here.size() == 1) return here.front();
  std::string list;
  for (const std::string& address : addresses) {
    const auto status = AskAdmin(address, "status", kAnswerMs);
    if (status.ok()) list += (list.empty() ? "" : ", ") + StatusField(*status, "directory");
  }
  return InvalidArgument(std::string("several ") + (shards ? "shards" : "learners") +
                         " are running; name one of " + list);
}

/// The status of the shards that the answer to a question without a name does not show already.
std::string ShardTexts(const Learner& shown) {
  std::string texts;
  for (const std::string& address : LiveAdminAddresses(kShardSocket)) {
    if (address == shown.admin) continue;
    const auto answer = AskAdmin(address, "status", kAnswerMs);
    const auto text = answer.ok() ? StatusText(*answer) : answer;
    if (text.ok()) texts += *text;
  }
  return texts;
}

Result<Learner> FindLearner(const CommonArguments& common, const std::string& run) {
  if (run.empty()) return TheOnlyLearner(RunsFolder(common));
  auto folder = FindRun(common, run);
  if (!folder.ok()) return folder.status();
  return LearnerOf(*folder);
}

struct AskArguments {
  std::string run;  ///< "": the only live one
  bool json = false;
  bool resume_follows = false;  ///< stop: lock-step actors wait for `murmurate resume`
};

struct SetArguments {
  std::string run;
  std::vector<std::string> assignments;  ///< NAME=VALUE
};

Result<int> RunStatus(const CommonArguments& common, const AskArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  auto answer = Ask(*learner, "status");
  const bool busy = answer.status().code() == StatusCode::kUnavailable;
  if (const std::string words = busy ? Busy(*learner) : ""; !words.empty() && !arguments.json) {
    std::printf("%s\n", words.c_str());
    return 0;
  }
  if (!answer.ok()) return ResourceError(answer.status().message());
  if (arguments.json) {
    std::printf("%s\n", answer->c_str());
    return 0;
  }
  auto text = StatusText(*answer);
  if (!text.ok()) return text.status();
  if (arguments.run.empty()) *text += ShardTexts(*learner);
  std::fputs(text->c_str(), stdout);
  return 0;
}

Result<int> RunStop(const CommonArguments& common, const AskArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  auto answer = Ask(*learner, arguments.resume_follows ? "stop to resume" : "stop");
  if (!answer.ok()) return ResourceError(answer.status().message());
  const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
  const auto there = [&] {
    std::error_code error;  // the socket's folder is the last thing a learner removes
    return Lives(learner->pid) && fs::exists(learner->admin.substr(6), error);
  };
  while (there() && MonotonicNs() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (there())
    return ResourceError(learner->name + ": process " + std::to_string(learner->pid) +
                         " has not stopped within 10 s; end it with kill " +
                         std::to_string(learner->pid));
  if (!common.quiet) std::printf("stopped %s\n", learner->name.c_str());
  return 0;
}

Result<int> RunSet(const CommonArguments& common, const SetArguments& arguments) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  for (const std::string& assignment : arguments.assignments) {
    const auto answer = Ask(*learner, "set " + assignment);
    if (answer.status().code() == StatusCode::kUnavailable)
      return ResourceError(answer.status().message());
    if (!answer.ok()) return answer.status();
    if (!common.quiet) std::printf("%s\n", answer->c_str());
  }
  return 0;
}

/// `verb`: "pause" or "unpause".
Result<int> AskToPause(const CommonArguments& common, const AskArguments& arguments,
                       const std::string& verb) {
  auto learner = FindLearner(common, arguments.run);
  if (!learner.ok()) return learner.status();
  const passwd* const user = getpwuid(geteuid());
  const std::string name = user == nullptr ? std::to_string(geteuid()) : user->pw_name;
  const auto answer = Ask(*learner, verb + " by `murmurate " + verb + "` of user " + name);
  if (answer.status().code() == StatusCode::kUnavailable)
    return ResourceError(answer.status().message());
  if (!answer.ok()) return answer.status();
  if (!common.quiet) std::printf("%s: %s\n", learner->name.c_str(), answer->c_str());
  return 0;
}

Result<int> RunPause(const CommonArguments& common, const AskArguments& arguments) {
  return AskToPause(common, arguments, "pause");
}

Result<int> RunUnpause(const CommonArguments& common, const AskArguments& arguments) {
  return AskToPause(common, arguments, "unpause");
}

}  // namespace

Result<std::string> FindRun(const CommonArguments& common, const std::string& run) {
  const std::string dir = RunsFolder(common);
  std::error_code error;
  for (const std::string& folder : {run, dir + '/' + run})
    if (fs::is_directory(folder, error)) return folder;
  return InvalidArgument(run + ": no such run, neither as a folder here nor in " + dir +
                         "; see ls " + dir + ", or set --set run.dir=DIR");
}

void AddStatus(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* status = app->add_subcommand("status", "Ask a live learner or shard how it is");
  status->add_option("RUN", given->run, "Which; without it the only live one");
  status->add_flag("--json", given->json, "As JSON");
  line->Choose(status, RunStatus, given);
}

void AddStop(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* stop = app->add_subcommand("stop", "Stop a live learner or shard cleanly");
  stop->add_option("RUN", given->run, "Which; without it the only live one");
  stop->add_flag("--resume-follows", given->resume_follows,
                 "Lock-step actors wait for `murmurate resume` instead of playing on or ending");
  line->Choose(stop, RunStop, given);
}

void AddPause(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* pause = app->add_subcommand(
      "pause", "Pause learning of a live learner; its games play on, `murmurate unpause` ends it");
  pause->add_option("RUN", given->run, "Which; without it the only live one");
  line->Choose(pause, RunPause, given);
}

void AddUnpause(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<AskArguments>();
  auto* unpause = app->add_subcommand(
      "unpause", "Let a learner that was paused learn on (`resume` is for a run that has ended)");
  unpause->add_option("RUN", given->run, "Which; without it the only live one");
  line->Choose(unpause, RunUnpause, given);
}

void AddSet(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<SetArguments>();
  auto* set =
      app->add_subcommand("set", "Change a setting of the games, or a rate, of a live learner");
  set->add_option("RUN", given->run, "Which run")->required();
  set->add_option("NAME=VALUE", given->assignments,
                  "A name of [settings], algorithm.entropy, algorithm.clip or "
                  "optimizer.learning_rate (model.NAME.... of one model)")
      ->required();
  line->Choose(set, RunSet, given);
}

}  // namespace murmurate
