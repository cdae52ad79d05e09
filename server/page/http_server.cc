#include "server/page/http_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace murmurate {
namespace {

constexpr int kPauseMs = 100;
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    "Content-Type: text/plain\r\nContent-Length: 43\r\n\r\n"
    "too many connections: close some, try again";
constexpr std::string_view kTooLarge =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
    "Content-Length: 0\r\n\r\n";

/// Sends what fits at once.
void SendNow(int fd, std::string_view text) {
  (void)!send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Whether accept failed for what may come back, and the connection still waits: at once it would
/// fail again.
bool LacksMeans(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// Closes after what was sent, and not by a reset, which would take the answer back.
void CloseGently(int fd) {
  shutdown(fd, SHUT_WR);
  char rest[4096];
  for (int i = 0; i < 16 && recv(fd, rest, sizeof rest, MSG_DONTWAIT) > 0; ++i) continue;
  close(fd);
}

}  // namespace

/// Parser has cpp-httplib parse requests and format answers, on streams of ours.
class HttpServer::Parser : public httplib::Server {
 public:
  Parser(int listening, std::size_t body_bytes, Guard guard) : guard_(std::move(guard)) {
    svr_sock_ = listening;  // without one it takes itself for stopped
    set_payload_max_length(body_bytes);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return Route(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
  }
  ~Parser() override { svr_sock_ = INVALID_SOCKET; }

  void AddGet(const std::string& path, Answer answer) { gets_[path] = std::move(answer); }
  void AddPost(const std::string& path, Answer answer) {
    posts_[path] = true;
    Post(path, std::move(answer));
  }
  void Process(RequestStream& stream) {
    bool closed = false;
    process_request(stream, true, closed, [](httplib::Request& request) {
      // Nothing is compressed, which costs the learner's processor, and nothing is cut in ranges.
      request.headers.erase("Accept-Encoding");
      request.headers.erase("Range");
      request.ranges.clear();
      // Without either there is no body (RFC 9112, 6.3), and the parser would wait for one.
      if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding"))
        request.headers.emplace("Content-Length", "0");
    });
  }

 private:
  /// True when the request is answered; a POST goes on, to its body.
  bool Route(const httplib::Request& request, httplib::Response& response) const {
    if (!guard_(request, response)) return true;
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (request.method == "POST" && posts_.contains(request.path)) return false;
    const auto found = gets_.find(request.path);
    if (reads && found != gets_.end()) {
      found->second(request, response);
      return true;
    }
    const bool known = found != gets_.end() || posts_.contains(request.path);
    response.status = known ? 405 : 404;
    if (known) response.set_header("Allow", found != gets_.end() ? "GET, HEAD" : "POST");
    response.set_content(known ? "this path does not take " + request.method + "\n"
                               : "no such path; the page is at /\n",
                         "text/plain");
    return true;
  }

  const Guard guard_;
  std::map<std::string, Answer> gets_;
  std::map<std::string, bool> posts_;
};

HttpServer::HttpServer(Listener listener, const Limits& limits, Guard guard)
    : listener_(std::move(listener)),
      limits_(limits),
      parser_(std::make_unique<Parser>(listener_.fd(), limits.body_bytes, std::move(guard))) {}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& path, Answer answer) {
  parser_->AddGet(path, std::move(answer));
}
void HttpServer::Post(const std::string& path, Answer answer) {
  parser_->AddPost(path, std::move(answer));
}

void HttpServer::PollOnce(int timeout_ms) {
  pollfd places[] = {{listener_.fd(), POLLIN, 0}, {wake_.fd(), POLLIN, 0}};
  (void)poll(places, 2, timeout_ms);
  wake_.Clear();
  Collect();
  for (int i = 0; i < 16 && !stopping_; ++i) {
    const int fd = listener_.Accept();
    if (fd >= 0) {
      Begin(fd);
      continue;
    }
    if (LacksMeans(errno)) (void)poll(&places[1], 1, std::min(timeout_ms, kPauseMs));
    return;
  }
}

/// Joins the threads of connections that have ended.
void HttpServer::Collect() {
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (!at->done) {
      ++at;
      continue;
    }
    at->thread.join();
    at = connections_.erase(at);
  }
}

void HttpServer::Begin(int fd) {
  if (connections_.size() >= static_cast<std::size_t>(limits_.connections)) Collect();
  bool begun = false;
  if (connections_.size() < static_cast<std::size_t>(limits_.connections)) {
    Connection& connection = connections_.emplace_back();
    connection.fd = fd;
    try {
      connection.thread = std::thread([this, &connection] { Serve(&connection); });
      begun = true;
    } catch (const std::system_error&) {  // the system has no thread to give
      connections_.pop_back();
    }
  }
  if (begun) return;
  SendNow(fd, kBusy);
  CloseGently(fd);
}

void HttpServer::Serve(Connection* connection) {
  pthread_setname_np(pthread_self(), "mmr-page-http");
  RequestStream stream(connection->fd, limits_.request, &stopping_);
  parser_->Process(stream);
  if (stream.too_large() && !stream.answered()) SendNow(connection->fd, kTooLarge);
  CloseGently(connection->fd);
  connection->done = true;
  wake_.Set();
}

void HttpServer::Stop() {
  stopping_ = true;
  for (Connection& connection : connections_) connection.thread.join();
  connections_.clear();
}

}  // namespace murmurate
