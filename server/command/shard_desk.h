// ShardDesk: what mmr-operate of a shard repeats: answer `murmurate status` and `stop`, hand the
// live page snapshots, and write each model's numbers for TensorBoard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "murmurate/log.h"
#include "server/metrics/metric_sink.h"
#include "server/operate/admin.h"
#include "server/operate/progress.h"
#include "server/operate/run_directory.h"
#include "server/operate/shard_report.h"
#include "server/operate/snapshot_board.h"
#include "server/page/page.h"
#include "server/parameters/parameter_server.h"
#include "shared/core/loop.h"

namespace murmurate {

struct ShardDeskOptions {
  ShardReport report;  ///< what stays; the models are the server's
  const ParameterServer* server = nullptr;
  const RunDirectory* directory = nullptr;
  std::function<void()> on_stop;  ///< `murmurate stop`
  LogCallback log;
  bool tensorboard = true;
  double log_interval_s = 5.0;
  std::optional<PageOptions> page = {};  ///< none: no page; board and admin are the desk's
};

class ShardDesk {
 public:
  explicit ShardDesk(ShardDeskOptions options);
  ~ShardDesk();

  /// Opens the socket and the page, and says in the folder's address.json where they are.
  Status Open(SocketContext& context);
  /// "": there is no page.
  std::string page_url() const { return page_ ? page_->control_url() : ""; }

  void PollOnce(int timeout_ms);  ///< mmr-operate
  void Wake() { signal_.Set(); }

 private:
  /// What is known of a model beside its ShardView.
  struct Watched {
    explicit Watched(std::int64_t now_ns) : rate(now_ns) {}
    Rate rate;
    std::int64_t waits_since_ns = 0;  ///< 0: no worker waits
    std::unique_ptr<MetricSink> sink;
  };

  wire::AdminOk Answer(const std::string& command);
  ShardReport Report(std::int64_t now_ns);
  void OpenPage(const std::string& admin_address);
  void Publish(std::int64_t now_ns);
  void WriteRows(std::int64_t now_ns);
  Watched& Watch(const ShardView& view, std::int64_t now_ns);
  std::unique_ptr<MetricSink> OpenSink(const ShardView& view) const;

  const ShardDeskOptions options_;
  const std::int64_t start_ns_;
  std::int64_t next_row_ns_;
  WakeSignal signal_;
  std::map<std::string, Watched> watched_;
  std::optional<AdminServer> admin_;
  SnapshotBoard board_;
  std::unique_ptr<Page> page_;
  std::optional<Loop> page_loop_;  ///< before the page, which it uses, it ends
};

}  // namespace murmurate
