#include "server/daemon/cluster.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "server/config/config_text.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr std::string_view kEndedWithCode = "ended with exit code ";
constexpr int kMostStarts = 20;
constexpr std::int64_t kPatienceNs = 10 * kNanosecondsPerSecond;

/// Waits up to 10 s after SIGTERM for the last files; ~Children kills what is left then.
void AwaitEnd(Children* children) {
  const std::int64_t deadline = MonotonicNs() + kPatienceNs;
  while (children->alive() > 0 && MonotonicNs() < deadline) {
    (void)children->CollectEnded();
    if (children->alive() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Passes what `resume` was told to change to a learner that has a config.toml of its own, except
/// where to listen.
void SetAgain(const Config& config, const std::function<void(const std::string&)>& set) {
  for (const ConfigLine& line : Explain(config))
    if (IsOverride(line.origin) && line.path != "server.listen") set(line.path + '=' + line.value);
}

}  // namespace

Result<std::vector<std::string>> Cluster::ShardAddresses(int shards) {
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  std::vector<std::string> addresses;
  for (int i = 0; i < shards; ++i)
    addresses.push_back("ipc://" + *folder + "shard-" + std::to_string(i));
  return addresses;
}

Status Cluster::StartShard(ShardProcess* shard) {
  shard->process = std::make_unique<Children>();
  ++shard->starts;
  return shard->process->Start(shard->arguments);
}

Status Cluster::Start(const Config& config, const std::string& directory, bool resume) {
  const std::string file = directory + "/config.toml";
  started_ns_ = MonotonicNs();
  started_ = std::filesystem::file_time_type::clock::now();
  for (std::size_t i = 0; i < config.parameters().shards.size(); ++i) {
    ShardProcess& shard = shards_.emplace_back();
    shard.arguments = {
        "murmurate",       "params",  file,    "--shard",
        std::to_string(i), "--quiet", "--dir", directory + "/shard-" + std::to_string(i),
        "--stay"};
    MURMURATE_RETURN_IF_ERROR(StartShard(&shard));
  }
  for (int i = 1; i < config.run().learners; ++i) {
    const std::string name = "learner-" + std::to_string(i);
    std::vector<std::string> arguments{"murmurate"};
    if (resume)
      arguments.insert(arguments.end(), {"resume", directory + '/' + name});
    else
      arguments.insert(arguments.end(), {"train", file});
    const auto set = [&](const std::string& assignment) {
      arguments.insert(arguments.end(), {"--set", assignment});
    };
    arguments.push_back("--quiet");
    if (!resume) {
      set("run.dir=\"" + directory + '"');
      set("run.name=\"" + name + '"');
    }
    if (resume) SetAgain(config, set);
    set("run.learners=1");
    set("run.shards=0");
    set("run.actors=" + std::to_string(config.run().actors));
    const RunSettings& run = config.run();
    if (run.steps) set("run.steps=" + std::to_string(*run.steps));
    if (run.stop_at_steps) set("run.stop_at_steps=" + std::to_string(*run.stop_at_steps));
    set("run.seed=" + std::to_string(config.run().seed + kSeedStride * static_cast<unsigned>(i)));
    set("parameters.worker=" + std::to_string(i));
    std::string addresses;
    for (const std::string& address : config.parameters().shards)
      addresses += (addresses.empty() ? "\"" : ", \"") + address + '"';
    set("parameters.shards=[" + addresses + ']');
    learners_.push_back({name, directory + '/' + name, std::make_unique<Children>()});
    MURMURATE_RETURN_IF_ERROR(learners_.back().process->Start(arguments));
  }
  return {};
}

/// Whether its files are open: its address.json is not one that an earlier life left.
bool Cluster::HasBegun(const LearnerProcess& learner) const {
  std::error_code none;
  const auto written = std::filesystem::last_write_time(learner.folder + "/address.json", none);
  return !none && written >= started_;
}

Status Cluster::WatchLearner(const LearnerProcess& learner, const LogCallback& log) const {
  const auto ended = learner.process->CollectEnded();
  if (ended.empty()) return {};
  const std::string& how = ended.front();
  const std::size_t at = how.find(kEndedWithCode);
  const bool killed = at == how.npos;
  const int code = killed ? 0 : std::atoi(how.c_str() + at + kEndedWithCode.size());
  if (MonotonicNs() - started_ns_ < kPatienceNs) {
    if (killed && !HasBegun(learner))
      return ResourceError("a learner could not begin (" + how +
                           "); start the run again, with fewer learners if memory was short");
    if (code > 1)
      return ResourceError("a learner could not begin (" + how +
                           "); its log.txt, in the run's folder, says why");
  }
  if (killed || code > 1)
    log(LogLevel::kWarning, learner.name + ": " + how +
                                "; the others go on without it, and its part "
                                "of the files is not learned from any more");
  else
    log(LogLevel::kInfo, learner.name + ": " + how);
  return {};
}

Status Cluster::Watch(const LogCallback& log) {
  for (const LearnerProcess& learner : learners_)
    MURMURATE_RETURN_IF_ERROR(WatchLearner(learner, log));
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    ShardProcess& shard = shards_[i];
    const auto ended = shard.process->CollectEnded();
    if (ended.empty()) continue;
    if (shard.starts == kMostStarts)
      return ResourceError("shard " + std::to_string(i) + " of the parameter server ended " +
                           std::to_string(kMostStarts) + " times; see shard-" + std::to_string(i) +
                           "/log.txt in the run's folder");
    log(LogLevel::kWarning, "shard " + std::to_string(i) + ": " + ended.front() +
                                "; it is started again and goes on from its checkpoint");
    MURMURATE_RETURN_IF_ERROR(StartShard(&shard));
  }
  return {};
}

void Cluster::StopLearners() {
  for (const LearnerProcess& learner : learners_) learner.process->Send(SIGTERM);
  for (const LearnerProcess& learner : learners_) AwaitEnd(learner.process.get());
}

void Cluster::Stop() {
  StopLearners();
  for (ShardProcess& shard : shards_) shard.process->Send(SIGTERM);
  for (ShardProcess& shard : shards_) AwaitEnd(shard.process.get());
}

}  // namespace murmurate
