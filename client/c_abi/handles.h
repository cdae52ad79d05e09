// The opaque handles, and the check that one may be used.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/agent_core.h"
#include "client/c_abi/open_clients.h"
#include "client/c_abi/step_arguments.h"
#include "client/internals.h"
#include "client/platform.h"
#include "murmurate/client.h"

namespace murmurate::c_abi {

/// The first word of every handle; wiped when it is closed.
enum class HandleKind : std::uint64_t {
  kClient = 0x6d6d722d636c6e74,
  kAgent = 0x6d6d722d61676e74,
  kGroup = 0x6d6d722d67727570,
};

struct Handle {
  Handle(HandleKind handle_kind, const HomeProcess* handle_home)
      : kind(handle_kind), home(handle_home) {}
  ~Handle() { kind = HandleKind{}; }
  /// Volatile: the last write before the memory is freed is there to be seen.
  volatile HandleKind kind;
  const HomeProcess* const home;  ///< lives as long as what the handle holds
};

/// LogLines is the queue that mmr_next_log reads; it outlives the client's threads.
struct LogLines {
  static constexpr std::size_t kMost = 64;
  struct Line {
    LogLevel level;
    std::string text;
  };
  std::mutex mutex;
  std::deque<Line> lines;
};

/// Fails with the reason why a handle cannot be used; never MMR_OK.
mmr_status RefuseHandle(const Handle* handle, HandleKind expected);

inline mmr_status CheckHandle(const Handle* handle, HandleKind expected) {
  if (handle != nullptr && handle->kind == expected && !handle->home->left()) [[likely]]
    return MMR_OK;
  return RefuseHandle(handle, expected);
}

}  // namespace murmurate::c_abi

struct mmr_client : murmurate::c_abi::Handle {
  mmr_client(const murmurate::HomeProcess* client_home, std::unique_ptr<murmurate::Client> core,
             std::shared_ptr<murmurate::c_abi::LogLines> log)
      : Handle(murmurate::c_abi::HandleKind::kClient, client_home),
        client(std::move(core)),
        log_lines(std::move(log)) {
    murmurate::c_abi::AddOpenClient(&murmurate::Internals::Of(*client));
  }
  ~mmr_client() { murmurate::c_abi::RemoveOpenClient(&murmurate::Internals::Of(*client)); }
  const std::unique_ptr<murmurate::Client> client;
  const std::shared_ptr<murmurate::c_abi::LogLines> log_lines;  ///< null: a log function
  std::mutex making;  ///< an agent: Client::last_error is of the last one
};

struct mmr_agent : murmurate::c_abi::Handle {
  mmr_agent(murmurate::AgentCore* agent_core, bool of_group)
      : Handle(murmurate::c_abi::HandleKind::kAgent, &agent_core->model()->wakeup->home),
        core(agent_core),
        counts(agent_core->model()->head.layout()),
        grouped(of_group) {}
  murmurate::AgentCore* const core;  ///< owned by `agent`, or by the group's
  const murmurate::c_abi::ActionCounts counts;
  const bool grouped;
  murmurate::Agent agent;
};

struct mmr_group : murmurate::c_abi::Handle {
  mmr_group(const murmurate::HomeProcess* group_home, murmurate::AgentGroup agent_group)
      : Handle(murmurate::c_abi::HandleKind::kGroup, group_home), group(std::move(agent_group)) {}
  murmurate::AgentGroup group;
  std::vector<std::unique_ptr<mmr_agent>> agents;
  std::vector<murmurate::AgentCore*> cores;
  std::vector<murmurate::AgentCore*> players;  ///< of the present call; room for all
};

namespace murmurate::c_abi {

inline mmr_status Check(const mmr_client* client) {
  return CheckHandle(client, HandleKind::kClient);
}
inline mmr_status Check(const mmr_agent* agent) { return CheckHandle(agent, HandleKind::kAgent); }
inline mmr_status Check(const mmr_group* group) { return CheckHandle(group, HandleKind::kGroup); }

/// Frees what a *_close was given. Null: nothing to do. In a forked child it all stays, as the
/// process does: nothing of the parent's is touched.
template <typename H>
mmr_status Close(H* handle, HandleKind kind) {
  if (handle == nullptr || (handle->kind == kind && handle->home->left())) return MMR_OK;
  if (const mmr_status status = CheckHandle(handle, kind); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    delete handle;
    return MMR_OK;
  });
}

}  // namespace murmurate::c_abi
