#include "server/command/shard_desk.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/metrics/shard_metrics.h"
#include "server/metrics/tensorboard_file.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kLongestWaitMs = 1000;

}  // namespace

ShardDesk::ShardDesk(ShardDeskOptions options)
    : options_(std::move(options)),
      start_ns_(MonotonicNs()),
      next_row_ns_(start_ns_ + static_cast<std::int64_t>(options_.log_interval_s * 1e9)),
      board_([this] { Wake(); }) {}

ShardDesk::~ShardDesk() {
  page_loop_.reset();
  page_.reset();
}

Status ShardDesk::Open(SocketContext& context) {
  auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  const std::string address = "ipc://" + *folder + kShardSocket;
  auto admin = AdminServer::Open(context, address,
                                 [this](const std::string& command) { return Answer(command); });
  if (!admin.ok()) return admin.status();
  admin_.emplace(*std::move(admin));
  if (options_.page) OpenPage(address);
  nlohmann::json where{
      {"pid", options_.report.pid}, {"listen", {options_.report.listen}}, {"admin", address}};
  if (page_) where["page"] = page_->url();
  return options_.directory->Write("address.json", where.dump(2) + '\n');
}

/// A page that finds no port is only said to be missing.
void ShardDesk::OpenPage(const std::string& admin_address) {
  PageOptions page = *options_.page;
  page.directory = options_.directory->path();
  page.board = &board_;
  page.admin_address = admin_address;
  page.longest_batch_s = [](const std::string&) { return 0.0; };
  auto opened = Page::Open(std::move(page));
  if (!opened.ok()) return options_.log(LogLevel::kWarning, opened.status().message());
  page_ = *std::move(opened);
  page_loop_.emplace(
      "mmr-page", [this] { page_->PollOnce(kLongestWaitMs); }, [this] { page_->Wake(); });
}

void ShardDesk::PollOnce(int timeout_ms) {
  Socket* const sockets[] = {admin_->socket()};
  const std::int64_t due_ns = std::min(board_.due_ns(), next_row_ns_) - MonotonicNs();
  const auto due_ms = static_cast<int>(std::clamp<std::int64_t>(
      due_ns / kNanosecondsPerMillisecond + 1, 0, static_cast<std::int64_t>(timeout_ms)));
  (void)Poller(&signal_).Wait(sockets, due_ms);
  const std::int64_t now_ns = MonotonicNs();
  for (const ShardView& view : options_.server->Views()) Watch(view, now_ns);
  if (now_ns >= next_row_ns_) WriteRows(now_ns);
  if (now_ns >= board_.due_ns()) Publish(now_ns);
  admin_->PollOnce();
}

wire::AdminOk ShardDesk::Answer(const std::string& command) {
  if (command.starts_with("stop")) {
    options_.on_stop();
    return {true, "stopping " + options_.report.directory};
  }
  if (command != "status")
    return {false, "unknown question \"" + command + "\": a shard answers status and stop"};
  return {true, Report(MonotonicNs()).ToJson()};
}

ShardReport ShardDesk::Report(std::int64_t now_ns) {
  ShardReport now = options_.report;
  now.uptime_s = static_cast<double>(now_ns - start_ns_) * 1e-9;
  for (const ShardView& view : options_.server->Views()) {
    Watched& watched = Watch(view, now_ns);
    const std::int64_t since_ns = watched.waits_since_ns;
    now.models.push_back(
        {.name = view.model,
         .version = view.version,
         .workers = view.workers,
         .pushes = view.pushes,
         .merged = view.merged,
         .pushes_per_s = watched.rate.PerSecond(view.pushes, now_ns),
         .waiting_s = since_ns > 0 ? static_cast<double>(now_ns - since_ns) * 1e-9 : 0.0,
         .waits = view.waits});
  }
  return now;
}

ShardDesk::Watched& ShardDesk::Watch(const ShardView& view, std::int64_t now_ns) {
  Watched& watched = watched_.try_emplace(view.model, now_ns).first->second;
  (void)watched.rate.PerSecond(view.pushes, now_ns);
  if (view.waits.empty()) {
    watched.waits_since_ns = 0;
  } else if (watched.waits_since_ns == 0) {
    watched.waits_since_ns = now_ns;
  }
  return watched;
}

void ShardDesk::Publish(std::int64_t now_ns) {
  const ShardReport report = Report(now_ns);
  auto snapshot = std::make_shared<RunSnapshot>();
  snapshot->at_ns = now_ns;
  snapshot->status = report.ToJson(-1);
  snapshot->readings = ShardReadings(report);
  board_.Publish(std::move(snapshot));
}

void ShardDesk::WriteRows(std::int64_t now_ns) {
  next_row_ns_ = now_ns + static_cast<std::int64_t>(options_.log_interval_s * 1e9);
  if (!options_.tensorboard) return;
  const ShardReport report = Report(now_ns);
  const std::vector<ShardView> views = options_.server->Views();
  for (const ShardReport::Model& model : report.models) {
    Watched& watched = watched_.at(model.name);
    const auto view = std::ranges::find(views, model.name, &ShardView::model);
    if (!watched.sink && view != views.end()) watched.sink = OpenSink(*view);
    if (!watched.sink) continue;
    if (const Status status = watched.sink->Write(ReadingOf(model)); !status.ok())
      options_.log(LogLevel::kError, status.message());
  }
}

/// Null: it cannot be opened, which was said.
std::unique_ptr<MetricSink> ShardDesk::OpenSink(const ShardView& view) const {
  auto folder = options_.directory->ModelFolder(view.model);
  Reading resumed("model", view.model);
  resumed.Set(kShardVersion, view.version - std::min(view.version, view.merges));
  const bool goes_on = resumed.Count(kShardVersion) > 0;
  auto sink = folder.ok() ? OpenTensorBoardFile({.folder = *folder,
                                                 .resumed = goes_on ? &resumed : nullptr,
                                                 .log = options_.log,
                                                 .step = &kShardVersion})
                          : Result<std::unique_ptr<MetricSink>>(folder.status());
  if (sink.ok()) return *std::move(sink);
  options_.log(LogLevel::kError, sink.status().message());
  return nullptr;
}

}  // namespace murmurate
