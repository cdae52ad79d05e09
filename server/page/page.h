// Page: the live page of a run: the files that browsers show, what they show in them, and what
// monitors ask for.
//
//   GET  / /icon.svg /page.css /page.js /charts.js /tables.js /streams.js /words.js /chart.js
//                         the page (PageAssets)
//        /api/events      what it shows, as it changes (EventStream)
//        /api/status      what `murmurate status --json` answers, at most a second old
//        /api/metrics     the same numbers by their metrics' names (MetricsJson)
//        /api/curves /api/log /api/checkpoints /api/config       RunFiles
//        /metrics         for Prometheus
//        /healthz         200 while the daemon answers; /readyz: 200 while it learns (Readiness)
//   POST /api/stop /api/checkpoint /api/pause /api/unpause /api/set        with X-Murmurate-Token, if control is on
//
// It reads snapshots and files, and steers by the same questions as `murmurate stop`: no learning
// thread is touched.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/operate/snapshot_board.h"
#include "server/page/http_server.h"
#include "server/page/page_settings.h"
#include "server/page/readiness.h"
#include "server/page/request_rules.h"
#include "server/page/run_files.h"

namespace murmurate {

struct PageOptions {
  PageAddress address;
  bool control = false;
  std::vector<std::string> hosts = {};  ///< further names of it
  std::string directory;                ///< of the run
  SnapshotBoard* board = nullptr;       ///< outlives the page, which closes it
  std::string admin_address = {};       ///< of Operate, where commands go
  LongestBatch longest_batch_s;
  HttpServer::Limits limits = {};
  int most_streams = 8;  ///< readers of /api/events at once
};

class Page {
 public:
  /// Listens. With control, leaves the token in DIRECTORY/page.token, which only the user reads.
  static Result<std::unique_ptr<Page>> Open(PageOptions options);
  /// Ends all connections; no PollOnce runs.
  ~Page();

  const std::string& url() const { return url_; }  ///< "http://127.0.0.1:7480/"
  /// The same, with the token where the run may be steered.
  std::string control_url() const { return token_.empty() ? url_ : url_ + "#token=" + token_; }

  void PollOnce(int timeout_ms) { server_->PollOnce(timeout_ms); }  ///< mmr-page
  void Wake() { server_->Wake(); }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;
  Page(PageOptions options, Listener listener, std::string token);
  Status KeepToken() const;
  bool Admit(const Request& request, Response& response) const;
  void AddAssets();
  void AddReports();
  void AddFiles();
  void AddControls();
  void Report(const std::string& path, const std::string& type,
              std::string (*text)(const RunSnapshot&));
  void AnswerEvents(Response& response);
  void AnswerReady(Response& response);
  void Steer(Response& response, const std::string& command) const;
  std::shared_ptr<const RunSnapshot> Snapshot() const;

  const PageOptions options_;
  const std::string token_;  ///< "": no control
  const RequestRules rules_;
  RunFiles files_;
  std::atomic<int> streams_{0};
  std::unique_ptr<HttpServer> server_;
  std::string url_;
};

}  // namespace murmurate
