// `murmurate cluster`: learners and shards as processes in the background.
#include "server/command/cluster_command.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr double kPatienceSeconds = 30.0;
constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

bool HoldsCluster(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(folder + "/cluster.toml", error);
}

std::string RunsFolder(const CommonArguments& common) {
  std::string dir = "runs";
  for (const ConfigOverride& change : common.overrides)
    if (change.path == "run.dir") dir = change.value;
  return dir;
}

/// The only cluster in `dir`, or the only one of which something runs.
Result<std::string> TheOnlyCluster(const std::string& dir, const std::string& host) {
  std::vector<std::string> all, running;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string folder = entry.path().string();
    if (!HoldsCluster(folder)) continue;
    all.push_back(folder);
    const auto plan = PlanIn(folder, host);
    if (plan.ok() && std::ranges::any_of(plan->parts, [](const ClusterPart& part) {
          return StateOf(part, 0).runs();
        }))
      running.push_back(folder);
  }
  if (running.size() == 1) return running.front();
  if (running.empty() && all.size() == 1) return all.front();
  if (all.empty())
    return InvalidArgument("no cluster is in " + dir +
                           "; start one with `murmurate cluster start CONFIG`");
  std::string list;
  for (const std::string& folder : running.empty() ? all : running)
    list += (list.empty() ? "" : ", ") + folder;
  return InvalidArgument("several clusters are in " + dir + "; name one of " + list);
}

/// The folder that a config names by run.name, or by its own name; "": it is no config.
std::string FolderOfConfig(const CommonArguments& common, const std::string& name) {
  const auto source = FindConfig(name);
  if (!source.ok()) return "";
  const auto config = Config::Load(*source, common.overrides);
  if (!config.ok()) return "";
  return config->run().dir + '/' + config->run().name;
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }
std::string OrDash(const std::optional<std::uint64_t>& count) {
  return count ? WithCommas(*count) : "-";
}

Row RowOf(const ClusterPart& part) {
  const PartState state = StateOf(part, kPartAnswerMs);
  const PartNumbers numbers = NumbersOf(state);
  const bool quiet = state.life == PartLife::kUp || state.life == PartLife::kElsewhere;
  return {part.name,
          TextOf(state.life),
          state.pid == 0 ? "-" : std::to_string(state.pid),
          OrDash(numbers.steps),
          numbers.rate ? RateText(*numbers.rate) : "-",
          OrDash(numbers.version),
          numbers.staleness ? FormatNumber("%.1f", *numbers.staleness) : "-",
          OrDash(numbers.workers),
          quiet ? OrDash(state.address) : state.last_line.substr(0, 200)};
}

Result<int> RunClusterStatus(const CommonArguments& common, const ClusterArguments& arguments) {
  auto plan = FindCluster(common, arguments);
  if (!plan.ok()) return plan.status();
  std::vector<Row> rows{{"part", "state", "process", "steps", "steps/s", "version", "staleness",
                         "workers", "address, or the last line of its log"}};
  for (const ClusterPart& part : plan->parts) rows.push_back(RowOf(part));
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::printf("%s\n", plan->folder.c_str());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < kColumns; ++i)
      std::printf(i < 2 ? "%-*s  " : "%*s  ", static_cast<int>(widths[i]), row[i].c_str());
    std::printf("%s\n", row.back().c_str());
  }
  return 0;
}

Result<int> RunClusterStop(const CommonArguments& common, const ClusterArguments& arguments) {
  auto plan = FindCluster(common, arguments);
  if (!plan.ok()) return plan.status();
  std::vector<ClusterPart> learners, shards;
  std::string elsewhere;
  bool runs = false;
  for (const ClusterPart& part : plan->parts) {
    if (!part.here) {
      elsewhere += (elsewhere.empty() ? "" : ", ") + part.name + " on " + part.host;
      continue;
    }
    (part.shard ? shards : learners).push_back(part);
    runs = runs || StateOf(part, 0).runs();
  }
  if (!runs)
    return InvalidArgument(plan->folder +
                           ": nothing of it runs on this host; see `murmurate "
                           "cluster status " +
                           NameInCommands(*plan) + "`");
  const auto say = [&](const std::string& line) {
    if (common.quiet) return;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  EndParts(learners, kPatienceSeconds, say);
  EndParts(shards, kPatienceSeconds, say);
  if (!elsewhere.empty()) say("not ended from here: " + elsewhere + "; type the same there");
  return 0;
}

void AddHost(CLI::App* command, ClusterArguments* given) {
  command->add_option("--host", given->host,
                      "Which host of [cluster] this one is; usual: by its name and addresses");
}

}  // namespace

std::string NameInCommands(const ClusterPlan& plan) {
  const fs::path folder(plan.folder);
  return folder.parent_path() == "runs" ? folder.filename().string() : plan.folder;
}

Result<ClusterPlan> PlanIn(const std::string& folder, const std::string& host) {
  auto source = FindConfig(folder + "/cluster.toml");
  if (!source.ok()) return source.status();
  const fs::path place = fs::path(folder).lexically_normal();
  const fs::path named = place.has_filename() ? place : place.parent_path();
  const std::string parent = named.has_parent_path() ? named.parent_path().string() : ".";
  auto config =
      Config::Load(*source, {{"run.dir", '"' + parent + '"', "CLUSTER"},
                             {"run.name", '"' + named.filename().string() + '"', "CLUSTER"}});
  if (!config.ok()) return config.status();
  auto plan = PlanCluster(*config, host);
  if (!plan.ok()) return plan.status();
  const auto text = ReadFile(folder + "/cluster.toml", 1 << 20);
  if (!text.ok()) return text.status();
  plan->text = *text;
  return plan;
}

Result<ClusterPlan> FindCluster(const CommonArguments& common, const ClusterArguments& arguments) {
  const std::string dir = RunsFolder(common), &what = arguments.what;
  if (what.empty()) {
    auto folder = TheOnlyCluster(dir, arguments.host);
    if (!folder.ok()) return folder.status();
    return PlanIn(*folder, arguments.host);
  }
  std::string config = FolderOfConfig(common, what);
  if (config.empty()) config = dir + '/' + what;
  for (const std::string& folder :
       {what, dir + '/' + what, dir + '/' + what + "-cluster", config, config + "-cluster"})
    if (HoldsCluster(folder)) return PlanIn(folder, arguments.host);
  return InvalidArgument(what + ": no such cluster, neither as a folder here nor in " + dir +
                         "; see ls " + dir + ", or start it with `murmurate cluster start " + what +
                         "`");
}

void EndParts(const std::vector<ClusterPart>& parts, double patience_s,
              const std::function<void(const std::string&)>& say) {
  std::vector<ClusterPart> waiting;
  for (const ClusterPart& part : parts) {
    const PartState state = StateOf(part, kPartAnswerMs);
    if (!state.runs()) continue;
    AskToEnd(part, state);
    waiting.push_back(part);
  }
  const std::int64_t deadline = MonotonicNs() + static_cast<std::int64_t>(patience_s * 1e9);
  while (!waiting.empty()) {
    std::erase_if(waiting, [&](const ClusterPart& part) {
      const PartState state = StateOf(part, 0);
      if (!state.runs()) say(part.name + ": stopped");
      return !state.runs();
    });
    if (waiting.empty()) return;
    if (MonotonicNs() > deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const ClusterPart& part : waiting) {
    const PartState state = StateOf(part, 0);
    if (state.pid > 0) kill(state.pid, SIGKILL);
    say(part.name + ": had not stopped within " + ShortDuration(patience_s) +
        ", so it was killed; it goes on from its newest checkpoint");
  }
}

void AddCluster(CLI::App* app, CommandLine* line) {
  auto* cluster = app->add_subcommand(
      "cluster", "Start, look at and stop learners and shards that run in the background");
  cluster->require_subcommand(1);
  auto given = std::make_shared<ClusterArguments>();
  auto* start = cluster->add_subcommand(
      "start", "Start the parts that do not run, and wait until each answers");
  start->add_option("CONFIG", given->what, kConfigHelp)->required();
  start->add_flag("--fresh", given->fresh, "Begin anew; an earlier one is kept as NAME-cluster.1");
  AddShortcut(start, line, "--learners", "run.learners", "Learners that share one model");
  AddShortcut(start, line, "--shards", "run.shards", "Processes of their parameter server");
  AddHost(start, given.get());
  line->Choose(start, RunClusterStart, given);
  auto* status = cluster->add_subcommand("status", "A table of all parts");
  auto* stop =
      cluster->add_subcommand("stop", "End the learners, then the shards, each with a checkpoint");
  for (auto* command : {status, stop}) {
    command->add_option("CLUSTER", given->what,
                        "Its name or folder, or the config it was started from; without it the "
                        "only one");
    AddHost(command, given.get());
  }
  line->Choose(status, RunClusterStatus, given);
  line->Choose(stop, RunClusterStop, given);
  for (auto* command : {start, status, stop}) {
    command->fallthrough();
    command->footer("Also --quiet, and --set SECTION.KEY=VALUE for any key of the config.");
  }
}

}  // namespace murmurate
