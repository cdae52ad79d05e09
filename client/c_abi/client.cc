// mmr_connect, mmr_open and what a client says.
#include "client/c_abi/convert.h"
#include "client/c_abi/handles.h"
#include "client/internals.h"
#include "client/stderr_log.h"

namespace murmurate::c_abi {
namespace {

/// Sets where the log goes; returns the queue of mmr_next_log when the caller gave no function.
std::shared_ptr<LogLines> SetLog(const mmr_client_options& given, ClientOptions* out) {
  if (given.log != nullptr) {
    out->log = [log = given.log, user = given.log_user](LogLevel level, std::string_view message) {
      log(user, static_cast<std::int32_t>(level), std::string(message).c_str());
    };
    return nullptr;
  }
  auto kept = std::make_shared<LogLines>();
  LogCallback warn = given.quiet != 0 ? LogCallback() : StderrLog::Make();
  out->log = [kept, warn = std::move(warn)](LogLevel level, std::string_view message) {
    if (warn) warn(level, message);
    std::lock_guard lock(kept->mutex);
    if (kept->lines.size() == LogLines::kMost) kept->lines.pop_front();
    kept->lines.push_back({level, std::string(message)});
  };
  return kept;
}

template <typename Start>
mmr_client* Make(const mmr_client_options* given, Start start) {
  mmr_client_options read{};
  if (given != nullptr && Read(given, "mmr_client_options", &read) != MMR_OK) return nullptr;
  ClientOptions options;
  if (Convert(read, &options) != MMR_OK) return nullptr;
  std::shared_ptr<LogLines> lines = SetLog(read, &options);
  Result<std::unique_ptr<Client>> client = start(std::move(options));
  if (!client.ok()) {
    Fail(client.status());
    return nullptr;
  }
  Internals::Of(**client).LimitWaits(read.max_wait_ms);
  const HomeProcess* home = &Internals::Of(**client).home();
  return new mmr_client(home, *std::move(client), std::move(lines));
}

mmr_stats ToC(const ClientStats& stats) {
  mmr_stats out{};
  out.steps = stats.steps;
  out.trajectories_sent = stats.trajectories_sent;
  out.trajectories_dropped = stats.trajectories_dropped;
  out.steps_dropped = stats.steps_dropped;
  out.steps_given_up = stats.steps_given_up;
  out.trajectories_refused = stats.trajectories_refused;
  out.weights_received = stats.weights_received;
  out.version = stats.version;
  out.reconnects = stats.reconnects;
  out.trajectories_committed = stats.trajectories_committed;
  out.steps_committed = stats.steps_committed;
  out.trajectories_lost = stats.trajectories_lost;
  out.rewards_not_finite = stats.rewards_not_finite;
  return out;
}

/// Copies as much as fits, and a 0.
void CopyText(std::string_view text, char* to, std::size_t capacity) {
  const std::size_t size = std::min(text.size(), capacity - 1);
  std::copy_n(text.data(), size, to);
  to[size] = 0;
}

}  // namespace
}  // namespace murmurate::c_abi

using namespace murmurate;
using namespace murmurate::c_abi;

mmr_client* mmr_connect(const char* address, const mmr_client_options* options) {
  return GuardMaking([&]() -> mmr_client* {
    if (address == nullptr) {
      Fail("the address is NULL: give one like tcp://127.0.0.1:7420");
      return nullptr;
    }
    return Make(options,
                [&](ClientOptions given) { return Client::Connect(address, std::move(given)); });
  });
}

mmr_client* mmr_open(const mmr_client_options* options) {
  return GuardMaking([&]() -> mmr_client* {
    return Make(options, [](ClientOptions given) -> Result<std::unique_ptr<Client>> {
      if (!given.policy.empty()) return Client::Open(std::move(given));
      return InvalidArgument("mmr_open plays a policy: set mmr_client_options.policy_path");
    });
  });
}

mmr_status mmr_close(mmr_client* client) { return Close(client, HandleKind::kClient); }

mmr_status mmr_get_state(mmr_client* client, mmr_state* state) {
  if (const mmr_status status = Check(client); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (state == nullptr) return Fail("the mmr_state is NULL");
    const StateReport report = client->client->State();
    mmr_state out{};
    out.state = static_cast<std::int32_t>(report.state);
    out.in_session = report.in_session;
    out.should_stop = client->client->should_stop();
    CopyText(report.reason, out.reason, sizeof out.reason);
    return Write(out, "mmr_state", state);
  });
}

const char* mmr_state_name(int32_t state) {
  if (state < MMR_STATE_NO_LEARNER || state > MMR_STATE_REFUSED) return "unknown";
  return ToString(static_cast<ClientState>(state));
}

mmr_status mmr_get_stats(mmr_client* client, mmr_stats* stats) {
  if (const mmr_status status = Check(client); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (stats == nullptr) return Fail("the mmr_stats is NULL");
    return Write(ToC(client->client->Stats()), "mmr_stats", stats);
  });
}

double mmr_setting(mmr_client* client, const char* name, double fallback) {
  if (Check(client) != MMR_OK) return fallback;
  if (name == nullptr) {
    Fail("mmr_setting: the name is NULL");
    return fallback;
  }
  return client->client->Setting(name, fallback);
}

int32_t mmr_update(mmr_client* client) {
  if (const mmr_status status = Check(client); status != MMR_OK) return status;
  return Guard([&]() -> std::int32_t { return client->client->Update(); });
}

mmr_status mmr_save(mmr_client* client, const char* path, const char* model) {
  if (const mmr_status status = Check(client); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (path == nullptr) return Fail("mmr_save: the path is NULL");
    const Status saved = client->client->Save(path, model == nullptr ? "default" : model);
    return saved.ok() ? MMR_OK : Fail(saved);
  });
}

int32_t mmr_next_log(mmr_client* client, char* text, uint64_t capacity, int32_t* level) {
  if (const mmr_status status = Check(client); status != MMR_OK) return status;
  return Guard([&]() -> std::int32_t {
    if (text == nullptr || capacity == 0) return Fail("mmr_next_log: no room for the text");
    if (client->log_lines == nullptr) {
      return Fail("mmr_next_log: this client's lines go to mmr_client_options.log");
    }
    Internals::Of(*client->client).Hear();
    std::lock_guard lock(client->log_lines->mutex);
    auto& lines = client->log_lines->lines;
    if (lines.empty()) return 0;
    CopyText(lines.front().text, text, capacity);
    if (level != nullptr) *level = static_cast<std::int32_t>(lines.front().level);
    lines.pop_front();
    return 1;
  });
}
