// A SampleServer on a socket file of the test's own, a clock that the test moves, and peers that
// say what they are told to.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/stream/sample_server.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {

inline constexpr double kPatienceS = 20;

/// Of one field, x.
inline SampleServerSettings ServerSettings(const std::string& address) {
  SampleServerSettings settings;
  settings.address = address;
  settings.stream = "temp";
  settings.fields = {{"x"}};
  settings.forecast.fields.emplace_back().name = "x";
  settings.forecast.targets = {0};
  return settings;
}

/// A DEALER that speaks the protocol as badly as a test wants.
class RawPeer {
 public:
  explicit RawPeer(const std::string& address, std::uint64_t sender = 5)
      : sender_(sender), socket_(*Socket::Open(context_, SocketKind::kDealer)) {
    EXPECT_TRUE(socket_.Connect(address).ok());
  }

  bool SendFrames(const std::vector<std::string>& frames) {
    return Post([&](Message* message) {
      for (const std::string& frame : frames)
        message->frames.emplace_back(std::as_bytes(std::span(frame)));
    });
  }
  bool Send(const wire::Body& body, std::uint64_t number = 0) {
    const wire::Encoded encoded = wire::Encode(body, sender_, number);
    return Post([&](Message* message) {
      message->frames.emplace_back(encoded.header);
      message->frames.emplace_back(encoded.metadata);
    });
  }
  /// What has come; `drive` is what makes it come.
  template <typename Drive>
  std::optional<wire::Decoded> Hear(Drive drive) {
    const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
    Message message;
    while (!socket_.TryReceive(&message)) {
      if (MonotonicNs() > end_ns) return std::nullopt;
      drive();
      Socket* const sockets[] = {&socket_};
      (void)Poller(nullptr).Wait(sockets, 1);
    }
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    auto decoded = wire::Decode(frames);
    if (auto* good = std::get_if<wire::Decoded>(&decoded)) return std::move(*good);
    ADD_FAILURE() << std::get<wire::DecodeFailure>(decoded).sentence;
    return std::nullopt;
  }
  bool HasMore() { return socket_.Readable(); }

 private:
  template <typename Fill>
  bool Post(Fill fill) {
    const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
    while (MonotonicNs() < end_ns) {
      Message message;
      fill(&message);
      if (socket_.TrySend(message) == SendOutcome::kSent) return true;
      Socket* const sockets[] = {&socket_};  // the connection is not there yet
      (void)Poller(nullptr).Wait(sockets, 1);
    }
    return false;
  }

  const std::uint64_t sender_;
  SocketContext context_;
  Socket socket_;
};

/// The server, with a Forecaster of the test's own or a `take` that says what it is told to.
class ServerStage {
 public:
  explicit ServerStage(SampleServerSettings settings = ServerSettings("")) {
    settings.address = address();
    Open(std::move(settings));
  }

  std::string address() const { return "ipc://" + folder_.path() + "/stream"; }
  void Open(SampleServerSettings settings) {
    server.reset();
    settings.address = address();
    auto opened = SampleServer::Open(
        std::move(settings),
        {[this](const Sample& sample) { return take ? take(sample) : SampleOutcome{}; },
         [this](Refusal refusal) { refused.push_back(refusal); }},
        [this] { return now_ns; });
    if (!opened.ok()) ADD_FAILURE() << opened.status();
    server = *std::move(opened);
  }
  void Round() {
    server->ReceiveSome();
    if (predict) predict();
    server->EndRound();
  }

  /// What `peer` hears next; of another type than T: a failure.
  template <typename T>
  T Hear(RawPeer* peer, std::uint64_t* number = nullptr) {
    const auto heard = peer->Hear([this] { Round(); });
    if (!heard || !std::holds_alternative<T>(heard->body)) {
      ADD_FAILURE() << "heard type " << (heard ? static_cast<int>(heard->header.type) : 0)
                    << (heard && std::holds_alternative<wire::Error>(heard->body)
                            ? ": " + std::get<wire::Error>(heard->body).sentence
                            : "");
      return T{};
    }
    if (number != nullptr) *number = heard->header.sequence;
    return std::get<T>(heard->body);
  }
  /// STREAM_HELLO and what follows it.
  wire::SamplesCommitted Greet(RawPeer* peer, std::uint64_t last_number = 0) {
    wire::StreamHello hello;
    hello.sequence = last_number;
    EXPECT_TRUE(peer->Send(hello));
    (void)Hear<wire::StreamOk>(peer);
    return Hear<wire::SamplesCommitted>(peer);
  }

 private:
  TemporaryFolder folder_;

 public:
  std::function<SampleOutcome(const Sample&)> take;
  std::function<void()> predict;
  std::vector<Refusal> refused;
  std::int64_t now_ns = 1'000 * kNanosecondsPerSecond;
  std::unique_ptr<SampleServer> server;
};

/// A sample of x.
inline wire::Sample SampleOf(const std::string& device, float x,
                             std::optional<std::uint64_t> sequence = {}, std::int64_t time_ns = 0) {
  return {device, time_ns, sequence, "", {x}};
}

}  // namespace murmurate
