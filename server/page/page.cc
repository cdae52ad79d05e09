#include "server/page/page.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "server/metrics/prometheus_text.h"
#include "server/operate/admin.h"
#include "server/page/assets.h"
#include "server/page/event_stream.h"
#include "server/page/metrics_json.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr int kSnapshotMs = 2000;  ///< how long an answer waits for the daemon
constexpr int kCommandMs = 2000;
constexpr std::size_t kMostAssignment = 256;
constexpr char kTokenFile[] = "/page.token";
constexpr char kJson[] = "application/json";
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void SetHeaders(httplib::Response& response) {
  response.set_header("Content-Security-Policy", kPolicy);
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  response.set_header("Cache-Control", "no-store");
}

void AnswerText(httplib::Response& response, int status, const std::string& sentence) {
  response.status = status;
  response.set_content(sentence + '\n', kText);
}

/// What follows "set " of a request's body, "" where it is no assignment.
std::string AssignmentIn(const std::string& body) {
  const bool plain = std::ranges::all_of(body, [](unsigned char c) { return c >= ' '; });
  const bool fits = body.size() <= kMostAssignment && body.find('=') != std::string::npos;
  return plain && fits ? body : "";
}

}  // namespace

Result<std::unique_ptr<Page>> Page::Open(PageOptions options) {
  auto listener = Listener::Open(options.address);
  if (!listener.ok()) return listener.status();
  std::string token = options.control ? RandomToken() : "";
  std::unique_ptr<Page> page(new Page(std::move(options), *std::move(listener), std::move(token)));
  MURMURATE_RETURN_IF_ERROR(page->KeepToken());
  return page;
}

Page::Page(PageOptions options, Listener listener, std::string token)
    : options_(std::move(options)),
      token_(std::move(token)),
      rules_(options_.address.host, options_.hosts, token_),
      files_(options_.directory),
      server_(std::make_unique<HttpServer>(
          std::move(listener), options_.limits,
          [this](const Request& request, Response& response) { return Admit(request, response); })),
      url_("http://" + server_->address().ToString() + '/') {
  AddAssets();
  AddReports();
  AddFiles();
  AddControls();
}

Page::~Page() {
  options_.board->Close();
  server_->Stop();
  std::error_code error;
  if (!token_.empty()) std::filesystem::remove(options_.directory + kTokenFile, error);
}

Status Page::KeepToken() const {
  if (token_.empty()) return {};
  const std::string path = options_.directory + kTokenFile;
  std::error_code error;
  std::filesystem::remove(path, error);  // of a run that was killed
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const std::string text = token_ + '\n';
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int cause = errno;
  if (fd >= 0) close(fd);
  if (written) return {};
  return ResourceError(path + ": cannot be written (" + std::strerror(cause) +
                       "); free some disk space, or set page.control = false");
}

/// Refuses requests that name another host, and changes without control.
bool Page::Admit(const Request& request, Response& response) const {
  SetHeaders(response);
  const std::string host = request.get_header_value("Host");
  if (request.get_header_value_count("Host") != 1 || !rules_.IsOwnHost(host)) {
    AnswerText(response, 421,
               "this page is not called " + host.substr(0, 100) + "; open " + url_ +
                   ", or add the name to page.hosts");
    return false;
  }
  if (request.method != "POST") return true;
  const std::string why = rules_.WhyNoControl(host, request.get_header_value("Origin"),
                                              request.get_header_value("X-Murmurate-Token"));
  if (!why.empty()) AnswerText(response, 403, why);
  return why.empty();
}

void Page::AddAssets() {
  for (const PageAsset& asset : PageAssets())
    server_->Get(std::string(asset.path), [&asset](const Request&, Response& response) {
      response.set_content(asset.text.data(), asset.text.size(), std::string(asset.type));
    });
}

std::shared_ptr<const RunSnapshot> Page::Snapshot() const {
  return options_.board->Await(MonotonicNs() - SnapshotBoard::kIntervalNs, kSnapshotMs);
}

void Page::Report(const std::string& path, const std::string& type,
                  std::string (*text)(const RunSnapshot&)) {
  server_->Get(path, [this, type, text](const Request&, Response& response) {
    if (const auto snapshot = Snapshot()) return response.set_content(text(*snapshot), type);
    AnswerText(response, 503, "the daemon has not answered for 2 s");
  });
}

void Page::AddReports() {
  Report("/api/status", kJson, [](const RunSnapshot& snapshot) { return snapshot.status; });
  Report("/api/metrics", kJson,
         [](const RunSnapshot& snapshot) { return MetricsJson(snapshot.readings); });
  Report("/metrics", std::string(kPrometheusContentType),
         [](const RunSnapshot& snapshot) { return PrometheusText(snapshot.readings); });
  Report("/healthz", kText, [](const RunSnapshot&) { return std::string("ok\n"); });
  server_->Get("/readyz", [this](const Request&, Response& response) { AnswerReady(response); });
  server_->Get("/api/events",
               [this](const Request&, Response& response) { AnswerEvents(response); });
}

void Page::AddFiles() {
  server_->Get("/api/curves", [this](const Request&, Response& response) {
    RunFiles::Seen none;
    response.set_content(files_.Curves(&none, MonotonicNs()), kJson);
  });
  server_->Get("/api/log", [this](const Request&, Response& response) {
    response.set_content(files_.Log(), kJson);
  });
  server_->Get("/api/checkpoints", [this](const Request&, Response& response) {
    response.set_content(files_.Checkpoints(), kJson);
  });
  server_->Get("/api/config", [this](const Request&, Response& response) {
    response.set_content(files_.Config(), kText);
  });
}

void Page::AddControls() {
  static constexpr std::pair<const char*, const char*> kQuestions[] = {
      {"/api/stop", "stop"},
      {"/api/checkpoint", "checkpoint"},
      {"/api/pause", "pause by the live page"},
      {"/api/unpause", "unpause by the live page"}};
  for (const auto& [path, question] : kQuestions)
    server_->Post(
        path, [this, question](const Request&, Response& response) { Steer(response, question); });
  server_->Post("/api/set", [this](const Request& request, Response& response) {
    const std::string assignment = AssignmentIn(request.body);
    if (assignment.empty()) return AnswerText(response, 400, "expected NAME=VALUE as the body");
    Steer(response, "set " + assignment);
  });
}

void Page::AnswerReady(Response& response) {
  const auto snapshot = Snapshot();
  const std::string why = snapshot ? WhyNotReady(*snapshot, options_.longest_batch_s)
                                   : "the daemon has not answered for 2 s";
  AnswerText(response, why.empty() ? 200 : 503, why.empty() ? "ready" : why);
}

void Page::AnswerEvents(Response& response) {
  if (++streams_ > options_.most_streams) {
    --streams_;
    return AnswerText(response, 503,
                      std::to_string(options_.most_streams) +
                          " readers follow this run already; close another page of it");
  }
  const auto stream = std::make_shared<EventStream>(options_.board, &files_, rules_.control());
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, stream](std::size_t, httplib::DataSink& sink) {
        const std::string text = stream->Next();
        return !server_->stopping() && sink.write(text.data(), text.size());
      },
      [this](bool) { --streams_; });
}

void Page::Steer(Response& response, const std::string& command) const {
  const auto answer = AskAdmin(options_.admin_address, command, kCommandMs);
  const bool late = answer.status().code() == StatusCode::kUnavailable;
  AnswerText(response,
             answer.ok() ? 200
             : late      ? 503
                         : 400,
             answer.ok() ? *answer : answer.status().message());
}

}  // namespace murmurate
