// SampleServer: the way of samples to a stream without a broker: a ROUTER that its thread drives,
// and the answers to their senders.
//
//   client                                server              Forecaster
//     | STREAM_HELLO ---------------------> |
//     | <--- STREAM_OK, SAMPLES_COMMITTED.. |
//     | SAMPLE n -------------------------> | -- take(sample) ----> |
//     |                                     | <-- Give(forecast) -- |  perhaps rounds later
//     | <--------------------- FORECAST n   |
//
// Each sample has exactly one answer: FORECAST, of the last row that it made; TAKEN, when it made
// none; REFUSED, with a word of server/stream/sample.h; or ERROR, when the message was wrong.
// AnswerQueue knows whose forecast is whose.
//
// Nothing that comes ends it. A message that is not understood is answered with ERROR and counted;
// a peer that sends many is not listened to for a minute. At most `max_peers` are known: the one
// that was silent longest makes room, if that is kRoomNs or more, and a peer that is silent for
// kIdleNs is forgotten. A peer that does not read its answers is forgotten when its queue is full;
// one that says STREAM_HELLO all the time is not told all again for a minute. A peer that is not
// known (any more) is told so, and says STREAM_HELLO again.
//
// One thread calls everything but Wake; only Wait waits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/session/reject_ledger.h"
#include "server/stream/answer_queue.h"
#include "server/stream/committed_news.h"
#include "server/stream/sample_peers.h"
#include "server/stream/sample_reader.h"
#include "server/stream/sample_socket.h"
#include "shared/core/clock.h"

namespace murmurate {

struct SampleServerSettings {
  std::string address;  ///< tcp://HOST:PORT (PORT may be *) or ipc://PATH
  std::string stream;   ///< its name
  std::vector<FieldSettings> fields;
  ForecastSettings forecast;
  std::uint32_t credit = 256;  ///< samples of one peer that may be unanswered
  std::size_t max_peers = 256;
};

/// Called within ReceiveSome.
struct SampleEvents {
  std::function<SampleOutcome(const Sample&)> take;
  std::function<void(Refusal)> refused;  ///< before it could be taken
};

class SampleServer {
 public:
  static constexpr std::int64_t kRoomNs = 30 * kNanosecondsPerSecond;
  static constexpr std::int64_t kIdleNs = 600 * kNanosecondsPerSecond;
  static constexpr int kMostMessages = 256;  ///< of one ReceiveSome

  using Committed = CommittedSequences;

  struct Counters {
    std::uint64_t samples = 0, answers = 0;
    std::uint64_t unanswered = 0;                                 ///< their sender was gone
    std::array<std::uint64_t, wire::kRefusalCount> refused = {};  ///< messages, by wire::Refusal
  };

  /// Listens when it returns. `now_ns`: only tests give another clock.
  static Result<std::unique_ptr<SampleServer>> Open(
      SampleServerSettings settings, SampleEvents events,
      std::function<std::int64_t()> now_ns = MonotonicNs);

  /// The bound address, with the chosen port.
  std::string address() const { return socket_->address(); }
  /// Waits until a message comes, or Wake.
  void Wait(int timeout_ms) { socket_->Wait(timeout_ms); }
  void Wake() const { socket_->Wake(); }  ///< any thread
  /// A descriptor to poll: readable when Readable may have become true. Ask that first.
  int fd() const { return socket_->fd(); }
  bool Readable() const { return socket_->Readable(); }

  /// Takes what has come, at most kMostMessages; answers what needs no forecast.
  void ReceiveSome();
  /// A forecast of the stream: of a sample from here it is the answer.
  void Give(const Forecast& forecast) { answers_.Give(forecast); }
  /// The newest checkpoint holds these of all devices: tells their senders, and those to come.
  void Commit(Committed committed) { news_.Commit(std::move(committed), &peers_); }
  /// Ends a round: tells some of what is committed, and forgets peers that are silent or gone. One
  /// that has no room for it now is told a second later.
  void EndRound();
  /// The learner ends. All peers are told, and forgotten.
  void SayGoodbye();

  /// Something waits to be told that no message would remind us of.
  bool has_news() const { return news_.waiting(); }
  std::size_t peers() const { return peers_.all().size(); }
  const Counters& counters() const { return counters_; }
  /// One per field, over all samples that could be read.
  std::span<const FieldCounts> field_counts() const { return reader_.counts(); }
  /// The entries of counters().refused that are not 0, named as "wire-malformed".
  std::vector<std::pair<std::string, std::uint64_t>> RefusedMessages() const;

 private:
  SampleServer(SampleServerSettings settings, SampleEvents events,
               std::function<std::int64_t()> now_ns, std::unique_ptr<SampleSocket> socket);
  void Hear();
  void HearKnown(SamplePeer* peer, const wire::Header& header);
  void Greet(const wire::StreamHello& hello, const wire::Header& header);
  void ReceiveSample(const wire::Sample& sample, const AnswerQueue::Asked& asked);
  void Reject(wire::Refusal refusal, const std::string& sentence, std::uint64_t number);
  void Answer(const AnswerQueue::Asked& asked, const wire::Body& body);

  const SampleServerSettings settings_;
  const SampleEvents events_;
  const std::function<std::int64_t()> now_ns_;
  const std::unique_ptr<SampleSocket> socket_;
  SampleReader reader_;
  Message message_;  ///< the one that is heard
  std::vector<std::span<const std::byte>> frames_;
  SamplePeers peers_;
  AnswerQueue answers_;
  CommittedNews news_;
  std::int64_t next_look_ns_ = 0;
  wire::RejectLedger greetings_, rejects_;
  Counters counters_;
};

}  // namespace murmurate
