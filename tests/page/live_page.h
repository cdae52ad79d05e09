// LivePage: a page with a thread that answers for mmr-operate, in a folder of its own.
#pragma once

#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/metrics/model_metrics.h"
#include "server/operate/admin.h"
#include "server/page/page.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {

inline RunSnapshot SampleSnapshot() {
  RunSnapshot snapshot;
  snapshot.at_ns = MonotonicNs();
  snapshot.status = R"({"run":"hero","models":[],"actors":[]})";
  Reading& model = snapshot.readings.emplace_back("model", "default");
  model.Set(kEnvironmentSteps, 1234);
  model.Set(kLoss, 0.5);
  return snapshot;
}

class LivePage {
 public:
  struct Given {
    bool control = false, answers = true;
    HttpServer::Limits limits = {};
    int most_streams = 8;
    std::vector<std::string> hosts = {};
  };
  LivePage() : LivePage(Given{}) {}
  explicit LivePage(const Given& given) : answers_(given.answers) {
    std::filesystem::create_directories(run());
    auto admin = AdminServer::Open(context_, "ipc://" + folder_.path() + "/admin",
                                   [this](const std::string& command) { return Take(command); });
    MURMURATE_CHECK(admin.ok(), "the test's admin socket");
    admin_.emplace(*std::move(admin));
    PageOptions options;
    options.address = {"127.0.0.1", 0};
    options.control = given.control;
    options.hosts = given.hosts;
    options.directory = run();
    options.board = &board_;
    options.admin_address = "ipc://" + folder_.path() + "/admin";
    options.longest_batch_s = [](const std::string&) { return 10.0; };
    options.limits = given.limits;
    options.most_streams = given.most_streams;
    auto page = Page::Open(options);
    MURMURATE_CHECK(page.ok(), "a page on a free port");
    page_ = *std::move(page);
    operate_ = std::make_unique<Loop>(
        "test-operate", [this] { PollOnce(); }, [this] { wake_.Set(); });
    accept_ = std::make_unique<Loop>(
        "test-page", [this] { page_->PollOnce(1000); }, [this] { page_->Wake(); });
  }
  ~LivePage() {
    accept_.reset();
    page_.reset();
    operate_.reset();
  }

  Page& page() { return *page_; }
  SnapshotBoard& board() { return board_; }
  std::string run() const { return folder_.path() + "/runs/hero"; }
  std::string runs() const { return folder_.path() + "/runs"; }
  int port() const {
    const std::string& url = page_->url();
    return std::stoi(url.substr(url.rfind(':') + 1));
  }
  std::string token() const {
    std::ifstream file(run() + "/page.token");
    std::string token;
    std::getline(file, token);
    return token;
  }
  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port());
    client.set_read_timeout(10);
    return client;
  }
  /// The next snapshots are as `change` makes them.
  void Change(std::function<void(RunSnapshot*)> change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }
  std::vector<std::string> commands() {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  int snapshots() {
    const std::lock_guard lock(mutex_);
    return snapshots_;
  }

 private:
  wire::AdminOk Take(const std::string& command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
    if (command == "set bad=1") return {false, "no such setting"};
    return {true, "did " + command};
  }
  void PollOnce() {
    Socket* const sockets[] = {admin_->socket()};
    const std::int64_t due_ms = (board_.due_ns() - MonotonicNs()) / 1'000'000 + 1;
    (void)Poller(&wake_).Wait(sockets, static_cast<int>(std::clamp<std::int64_t>(due_ms, 0, 1000)));
    admin_->PollOnce();
    if (!answers_ || MonotonicNs() < board_.due_ns()) return;
    auto snapshot = std::make_shared<RunSnapshot>(SampleSnapshot());
    const std::lock_guard lock(mutex_);
    if (change_) change_(snapshot.get());
    ++snapshots_;
    board_.Publish(std::move(snapshot));
  }

  const bool answers_;
  TemporaryFolder folder_;
  SocketContext context_;
  WakeSignal wake_;
  SnapshotBoard board_{[this] { wake_.Set(); }};
  std::optional<AdminServer> admin_;
  std::mutex mutex_;
  std::function<void(RunSnapshot*)> change_;
  std::vector<std::string> commands_;
  int snapshots_ = 0;
  std::unique_ptr<Page> page_;
  std::unique_ptr<Loop> operate_, accept_;
};

}  // namespace murmurate
