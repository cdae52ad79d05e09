// HttpServer: answers HTTP/1.1 on a listener within bounds: so many connections at once, each one
// request, each within RequestLimits. A connection beyond that is answered with 503 at once.
//
//   PollOnce (mmr-page) --accept--> a thread a connection (mmr-page-http): guard, route, answer
//
// cpp-httplib 0.11.4 parses requests and formats answers; its own accept loop and its unbounded
// thread pool are not used.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "server/page/listener.h"
#include "server/page/request_stream.h"
#include "shared/transport/socket.h"

namespace murmurate {

class HttpServer {
 public:
  using Answer = std::function<void(const httplib::Request&, httplib::Response&)>;
  /// False: it has answered itself, and the request goes no further.
  using Guard = std::function<bool(const httplib::Request&, httplib::Response&)>;

  struct Limits {
    int connections = 32;
    RequestLimits request = {};
    std::size_t body_bytes = 4096;
  };

  HttpServer(Listener listener, const Limits& limits, Guard guard);
  ~HttpServer();  ///< as Stop
  HttpServer(const HttpServer&) = delete;

  const PageAddress& address() const { return listener_.address(); }
  /// An answer to GET and HEAD, or to POST, of exactly this path; before the first PollOnce. It is
  /// called on the connections' threads, several at a time.
  void Get(const std::string& path, Answer answer);
  void Post(const std::string& path, Answer answer);

  /// Accepts what has come, at most 16 connections; waits up to `timeout_ms` for one. Where the
  /// system has no descriptor or memory for one, it returns after 100 ms, or when woken. One thread.
  void PollOnce(int timeout_ms);
  void Wake() { wake_.Set(); }  ///< any thread
  /// Ends all connections and waits for their threads; no PollOnce runs, or comes later.
  void Stop();
  bool stopping() const { return stopping_; }

 private:
  class Parser;
  struct Connection {
    int fd;
    std::atomic<bool> done{false};
    std::thread thread;
  };
  void Begin(int fd);
  void Collect();
  void Serve(Connection* connection);

  const Listener listener_;
  const Limits limits_;
  const std::unique_ptr<Parser> parser_;
  const WakeSignal wake_;
  std::atomic<bool> stopping_{false};
  std::list<Connection> connections_;  ///< of the polling thread
};

}  // namespace murmurate
