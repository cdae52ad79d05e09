// The bounds of the server, against clients that keep to none.
#include "server/page/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/page/raw_request.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// A server whose / answers "here" and /large with 64 MiB.
class TestServer {
 public:
  explicit TestServer(const HttpServer::Limits& limits = {})
      : server_(*Listener::Open({"127.0.0.1", 0}), limits,
                [](const httplib::Request&, httplib::Response&) { return true; }) {
    server_.Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("here", "text/plain");
    });
    server_.Get("/large", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(64 << 20, 'x'), "text/plain");
    });
    server_.Post("/post", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(std::to_string(request.body.size()), "text/plain");
    });
    loop_ = std::make_unique<Loop>(
        "test-page", [this] { server_.PollOnce(1000); }, [this] { server_.Wake(); });
  }
  int port() const { return server_.address().port; }
  std::string Ask(const std::string& bytes, double seconds = 5) const {
    const RawConnection connection(port());
    connection.Send(bytes);
    return connection.ReceiveAll(seconds);
  }
  bool AnswersWithin(double seconds) const {
    const std::int64_t deadline = MonotonicNs() + static_cast<std::int64_t>(seconds * 1e9);
    while (!Answers()) {
      if (MonotonicNs() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  bool Answers() const {
    return Ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n").find("here") != std::string::npos;
  }

 private:
  HttpServer server_;
  std::unique_ptr<Loop> loop_;
};

TEST(HttpServer, AnswersOneRequestAConnection) {
  const TestServer server;
  const std::string answer =
      server.Ask("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_EQ(answer.find("here"), answer.rfind("here"));
}

TEST(HttpServer, RefusesRequestsThatAreTooLarge) {
  HttpServer::Limits limits;
  limits.request.request_bytes = 16 << 10;
  const TestServer server(limits);
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_THAT(server.Ask("GET /" + std::string(1 << 20, 'a')), HasSubstr(" 431 "));
  const std::string long_header = server.Ask(start + "A: " + std::string(1 << 20, 'a'));
  EXPECT_THAT(long_header, ::testing::AnyOf(HasSubstr(" 431 "), HasSubstr(" 400 ")));
  std::string many = start;
  for (int i = 0; i < 100'000; ++i) many += "H" + std::to_string(i) + ": 1\r\n";
  EXPECT_THAT(server.Ask(many), ::testing::AnyOf(HasSubstr(" 431 "), HasSubstr(" 400 ")));
  EXPECT_TRUE(server.Answers());
}

TEST(HttpServer, RefusesBodiesThatAreTooLarge) {
  HttpServer::Limits limits;
  limits.body_bytes = 100;
  const TestServer server(limits);
  const auto post = [&](int size) {
    return server.Ask(
        "POST /post HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n"
        "Content-Length: " +
        std::to_string(size) + "\r\n\r\n" +
        std::string(static_cast<std::size_t>(std::min(size, 1 << 16)), 'b'));
  };
  EXPECT_THAT(post(100), HasSubstr("200 OK"));
  EXPECT_THAT(post(101), HasSubstr(" 413 "));
  EXPECT_THAT(post(2'000'000'000), HasSubstr(" 413 "));
  EXPECT_TRUE(server.Answers());
}

TEST(HttpServer, DropsARequestThatTakesTooLong) {
  HttpServer::Limits limits;
  limits.request.request_ns = 200'000'000;
  const TestServer server(limits);
  const RawConnection slow(server.port());
  const std::int64_t before = MonotonicNs();
  bool open = true;
  for (int i = 0; i < 100 && open; ++i) {
    slow.Send("G");
    open = !slow.Closed(0.02);
  }
  EXPECT_FALSE(open);
  EXPECT_LT(MonotonicNs() - before, 2 * kNanosecondsPerSecond);
}

TEST(HttpServer, DropsAReaderThatIsTooSlow) {
  HttpServer::Limits limits;
  limits.connections = 1;
  limits.request.write_ns = 200'000'000;
  const TestServer server(limits);
  const RawConnection slow(server.port());
  slow.SetReceiveBuffer(4096);
  slow.Send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");  // and reads nothing
  EXPECT_TRUE(server.AnswersWithin(5)) << "its thread has ended";
}

TEST(HttpServer, AnswersConnectionsBeyondItsCapWith503) {
  HttpServer::Limits limits;
  limits.connections = 4;
  const TestServer server(limits);
  std::vector<std::unique_ptr<RawConnection>> held;
  for (int i = 0; i < 4; ++i) held.push_back(std::make_unique<RawConnection>(server.port()));
  EXPECT_THAT(server.Ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr(" 503 "));
  held.clear();
  EXPECT_TRUE(server.AnswersWithin(5));
}

/// Leaves this process no further descriptor while it lives.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HttpServer, PausesWhileNoDescriptorIsLeft) {
  HttpServer server(*Listener::Open({"127.0.0.1", 0}), HttpServer::Limits{},
                    [](const httplib::Request&, httplib::Response&) { return true; });
  const RawConnection waits(server.address().port);
  waits.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  {
    const NoDescriptorLeft none;
    const std::int64_t before = MonotonicNs();
    for (int i = 0; i < 3; ++i) server.PollOnce(10'000);
    EXPECT_GE(MonotonicNs() - before, 270'000'000);
    EXPECT_LT(MonotonicNs() - before, 9 * kNanosecondsPerSecond);
  }
  server.PollOnce(10'000);
  EXPECT_THAT(waits.ReceiveUntil("\r\n\r\n", 10), HasSubstr(" 404 "));
}

/// As `curl -X POST` sends it.
TEST(HttpServer, APostWithoutALengthHasNoBodyAndIsAnsweredAtOnce) {
  HttpServer::Limits limits;
  limits.request.request_ns = 60'000'000'000;
  const TestServer server(limits);
  const RawConnection connection(server.port());
  ASSERT_TRUE(connection.Send("POST /post HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_THAT(connection.ReceiveUntil("200 OK", 5), HasSubstr("200 OK"));
}

TEST(HttpServer, GoesOnAfterMalformedRequests) {
  HttpServer::Limits limits;
  limits.request.request_ns = 300'000'000;
  const TestServer server(limits);
  const std::vector<std::string> seeds = {
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
      "POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "POST /post HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"
      "Content-Length: 30\r\n\r\n--x\r\nContent-Disposition: form",
      "GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1,1-2,2-3\r\nAccept-Encoding: br\r\n\r\n",
      "GET /?a=%41&b=%zz HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"};
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    for (unsigned i = random() % 8; i > 0; --i)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const RawConnection connection(server.port());
    connection.Send(bytes);
    connection.EndSending();
    (void)connection.ReceiveAll(1);
  }
  EXPECT_TRUE(server.Answers());
}

TEST(HttpServer, CutsNoRangesAndCompressesNothing) {
  const TestServer server;
  const std::string answer = server.Ask(
      "GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0,1-1,2-2\r\nAccept-Encoding: gzip, br\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr(" 200 OK"));
  EXPECT_THAT(answer, HasSubstr("here"));
}

}  // namespace
}  // namespace murmurate
