#include "server/cluster.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr std::string_view kEndedWithCode = "ended with exit code ";
constexpr int kMostStarts = 20;
constexpr std::int64_t kPatienceNs = 10 * kNanosecondsPerSecond;

/// After SIGTERM: up to 10 s for the last files; what is left then is killed by ~Children.
void AwaitEnd(Children* children) {
  const std::int64_t deadline = MonotonicNs() + kPatienceNs;
  while (children->alive() > 0 && MonotonicNs() < deadline) {
    (void)children->TakeEnded();
    if (children->alive() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
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
  for (std::size_t i = 0; i < config.shards().size(); ++i) {
    ShardProcess& shard = shards_.emplace_back();
    shard.arguments = {
        "murmurate",       "params",  file,    "--shard",
        std::to_string(i), "--quiet", "--dir", directory + "/shard-" + std::to_string(i)};
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
    set("run.learners=1");
    set("run.shards=0");
    set("run.actors=" + std::to_string(config.run().actors));
    if (config.run().steps) set("run.steps=" + std::to_string(*config.run().steps));
    set("run.seed=" + std::to_string(config.run().seed + kSeedStride * static_cast<unsigned>(i)));
    set("parameters.worker=" + std::to_string(i));
    std::string addresses;
    for (const std::string& address : config.shards())
      addresses += (addresses.empty() ? "\"" : ", \"") + address + '"';
    set("parameters.shards=[" + addresses + ']');
    MURMURATE_RETURN_IF_ERROR(learners_.Start(arguments));
  }
  return {};
}

Status Cluster::Watch(const LogCallback& log) {
  for (const std::string& sentence : learners_.TakeEnded()) {
    log(LogLevel::kInfo, "of the other learners, " + sentence);
    const std::size_t at = sentence.find(kEndedWithCode);
    const int code =
        at == sentence.npos ? 0 : std::atoi(sentence.c_str() + at + kEndedWithCode.size());
    if (code > 1 && MonotonicNs() - started_ns_ < kPatienceNs)
      return ResourceError("a learner could not begin (" + sentence +
                           "); its log.txt, in the run's folder, says why");
  }
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    ShardProcess& shard = shards_[i];
    const auto ended = shard.process->TakeEnded();
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

void Cluster::Stop() {
  learners_.Send(SIGTERM);
  AwaitEnd(&learners_);
  for (ShardProcess& shard : shards_) shard.process->Send(SIGTERM);
  for (ShardProcess& shard : shards_) AwaitEnd(shard.process.get());
}

}  // namespace murmurate
