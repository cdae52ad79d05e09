#include "server/daemon/cluster_plan.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "server/config/cluster_settings.h"
#include "server/config/config_text.h"
#include "server/data/data_settings.h"
#include "server/ingest/ingest_settings.h"
#include "server/parameters/parameters_settings.h"
#include "server/schema/settings_keys.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr int kPortsApart = 100;  ///< from one serving learner to the next on a host

/// The name of this host and the addresses of its interfaces.
std::set<std::string> NamesOfThisHost() {
  std::set<std::string> names{"localhost", "127.0.0.1", "::1"};
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) names.insert(name);
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return names;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto size =
        static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (getnameinfo(one->ifa_addr, size, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0)
      names.insert(name);
  }
  freeifaddrs(interfaces);
  return names;
}

/// FNV-1a of a path, as eight digits: two clusters of a user have sockets of different names.
std::string Digest(const std::string& path) {
  std::uint32_t hash = 2166136261u;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char text[16];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

/// On one host: sockets that only this user can open, in the folder of the user's runtime folders.
Result<std::vector<std::string>> PrivateAddresses(const std::string& folder, int shards) {
  auto runtime = RuntimeFolder();
  if (!runtime.ok()) return runtime.status();
  const std::string parent = fs::path(*runtime).parent_path().parent_path().string();
  std::error_code error;
  const std::string digest = Digest(fs::absolute(folder, error).lexically_normal().string());
  std::vector<std::string> addresses;
  for (int i = 0; i < shards; ++i)
    addresses.push_back("ipc://" + parent + "/cluster-" + digest + "-shard-" + std::to_string(i));
  return addresses;
}

const std::string& HostOf(const std::vector<std::string>& hosts, int number) {
  static const std::string kThis;
  return hosts.empty() ? kThis : hosts[static_cast<std::size_t>(number) % hosts.size()];
}

Result<std::vector<std::string>> ShardAddressesOf(const Config& config, const std::string& folder) {
  const auto given = config.parameters().shards;
  const int shards = config.run().shards;
  const ClusterSettings settings = config.Read(ClusterKeys());
  if (!given.empty()) {
    if (given.size() == static_cast<std::size_t>(shards)) return given;
    return ParametersKeys()
        .View(config.entries())
        .Blame("shards", "got " + std::to_string(given.size()) + " addresses, expected " +
                             std::to_string(shards) + ", one for each of run.shards");
  }
  if (settings.shard_hosts.empty()) return PrivateAddresses(folder, shards);
  std::vector<std::string> addresses;
  for (int i = 0; i < shards; ++i)
    addresses.push_back("tcp://" + HostOf(settings.shard_hosts, i) + ':' +
                        std::to_string(kShardPort + i));
  return addresses;
}

/// The n-th serving learner's addresses: as the config says, with ports that many hundreds higher.
std::vector<std::string> Listen(const Config& config, int number) {
  std::vector<std::string> words;
  for (std::string address : config.server().listen) {
    const std::size_t colon = address.rfind(':');
    const bool port = address.starts_with("tcp://") && colon != address.npos &&
                      colon + 1 < address.size() &&
                      std::all_of(address.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                  address.end(), [](unsigned char c) { return std::isdigit(c); });
    if (port)
      address = address.substr(0, colon + 1) +
                std::to_string(std::atoi(address.c_str() + colon + 1) + kPortsApart * number);
    words.insert(words.end(), {"--listen", address});
  }
  return words;
}

std::vector<std::string> ShardArguments(const ClusterPlan& plan, const ClusterPart& part) {
  return {"params", plan.config_path(), "--shard", std::to_string(part.number),
          "--dir",  part.folder,        "--quiet"};
}

std::vector<std::string> LearnerArguments(const Config& config, const ClusterPlan& plan,
                                          const ClusterPart& part) {
  const bool serves = config.Read(ClusterKeys()).serve ||
                      (config.run().environment.empty() && !config.data().given());
  std::vector<std::string> words{serves ? "serve" : "train", plan.config_path(), "--worker",
                                 std::to_string(part.number), "--quiet"};
  for (const std::string& set : {"run.dir=\"" + plan.folder + '"', "run.name=\"" + part.name + '"'})
    words.insert(words.end(), {"--set", set});
  if (!serves) return words;
  for (const std::string& word : Listen(config, part.number)) words.push_back(word);
  return words;
}

}  // namespace

Result<ClusterPlan> PlanCluster(const Config& given, const std::string& host) {
  Config config = given;
  const ClusterSettings settings = config.Read(ClusterKeys());
  if (config.parameters().shared())
    return ParametersKeys()
        .View(config.entries())
        .Blame("mode",
               "the cluster gives its learners their numbers and its shards their addresses; take "
               "mode, worker and workers out, and write learners = 2 (or more) in [run]");
  if (settings.shard_hosts.empty() != settings.learner_hosts.empty())
    return ClusterKeys()
        .View(config.entries())
        .Blame(settings.shard_hosts.empty() ? "learner_hosts" : "shard_hosts",
               "has no such list of the other parts beside it; write both shard_hosts and "
               "learner_hosts, or neither where all parts are on this host");
  ClusterPlan plan;
  plan.folder = config.run().dir + '/' + config.run().name;
  auto addresses = ShardAddressesOf(config, plan.folder);
  if (!addresses.ok()) return addresses.status();
  MURMURATE_RETURN_IF_ERROR(config.NameShardsAt(*addresses));
  std::set<std::string> here = NamesOfThisHost();
  if (!host.empty()) here = {host};
  const auto add = [&](bool shard, int number) {
    ClusterPart& part = plan.parts.emplace_back();
    part.shard = shard;
    part.number = number;
    part.name = (shard ? "shard-" : "learner-") + std::to_string(number);
    part.host = HostOf(shard ? settings.shard_hosts : settings.learner_hosts, number);
    part.here = part.host.empty() || here.contains(part.host);
    part.folder = plan.folder + '/' + part.name;
    part.arguments = shard ? ShardArguments(plan, part) : LearnerArguments(config, plan, part);
  };
  for (int i = 0; i < config.run().shards; ++i) add(true, i);
  for (int i = 0; i < config.run().learners; ++i) add(false, i);
  plan.text = ResolvedToml(config);
  return plan;
}

std::vector<std::string> ArgumentsToGoOn(const ClusterPart& part) {
  return {"resume", part.folder, "--quiet"};
}

}  // namespace murmurate
