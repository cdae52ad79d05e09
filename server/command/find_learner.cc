#include "server/command/find_learner.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "server/operate/admin.h"
#include "server/operate/run_directory.h"
#include "server/operate/status_report.h"
#include "shared/model/safetensors.h"

namespace murmurate {

namespace fs = std::filesystem;

bool Lives(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

namespace {

Result<FoundLearner> LearnerOf(const std::string& folder) {
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
  FoundLearner learner{folder, address["admin"], address["pid"], folder};
  return Lives(learner.pid) ? Result<FoundLearner>(learner) : Result<FoundLearner>(none);
}

/// Process ids are the folder names of runtime folders: ipc://.../PID/admin.
int PidOf(const std::string& admin) {
  return std::atoi(fs::path(admin.substr(6)).parent_path().filename().c_str());
}

}  // namespace

std::string Busy(const FoundLearner& learner) {
  const int holder = learner.folder.empty() ? 0 : RunDirectory::HolderOf(learner.folder);
  if (learner.folder.empty() ? !Lives(learner.pid) : holder == 0) return "";
  const std::string lock =
      holder == 0 ? "" : " (lock held by process " + std::to_string(holder) + ")";
  return learner.name + ": alive" + lock + ", busy: it has not answered within " +
         std::to_string(kAnswerMs / 1000) + " s; ask again";
}

Result<std::string> Ask(const FoundLearner& learner, const std::string& question) {
  auto answer = AskAdmin(learner.admin, question, kAnswerMs);
  if (answer.status().code() != StatusCode::kUnavailable) return answer;
  if (const std::string busy = Busy(learner); !busy.empty()) return Unavailable(busy);
  return answer;
}

namespace {

std::string RunsFolder(const CommonArguments& common) {
  std::string dir = "runs";
  for (const ConfigOverride& change : common.overrides)
    if (change.path == "run.dir") dir = change.value;
  return dir;
}

/// Those among `addresses` whose runs lie in this folder.
std::vector<FoundLearner> LearnersIn(const std::string& dir,
                                     const std::vector<std::string>& addresses) {
  std::vector<FoundLearner> here;
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
Result<FoundLearner> TheOnlyLearner(const std::string& dir) {
  auto addresses = LiveAdminAddresses();
  const bool shards = addresses.empty();
  if (shards) addresses = LiveAdminAddresses(kShardSocket);
  if (addresses.empty())
    return InvalidArgument("no learner is running; start one with `murmurate serve`");
  if (addresses.size() == 1)
    return FoundLearner{"process " + std::to_string(PidOf(addresses[0])), addresses[0],
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

}  // namespace

Result<FoundLearner> FindLearner(const CommonArguments& common, const std::string& run) {
  if (run.empty()) return TheOnlyLearner(RunsFolder(common));
  auto folder = FindRun(common, run);
  if (!folder.ok()) return folder.status();
  return LearnerOf(*folder);
}

Result<std::string> FindRun(const CommonArguments& common, const std::string& run) {
  const std::string dir = RunsFolder(common);
  std::error_code error;
  for (const std::string& folder : {run, dir + '/' + run})
    if (fs::is_directory(folder, error)) return folder;
  return InvalidArgument(run + ": no such run, neither as a folder here nor in " + dir +
                         "; see ls " + dir + ", or set --set run.dir=DIR");
}

}  // namespace murmurate
