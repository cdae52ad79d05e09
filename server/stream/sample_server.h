// SampleServer: the way of samples to a stream without a broker: a ROUTER that its thread drives,
// and the answers to whoever sent them.
//
//   client                                server              Forecaster
//     | STREAM_HELLO ---------------------> |
//     | <--- STREAM_OK, SAMPLES_COMMITTED.. |
//     | SAMPLE n -------------------------> | -- take(sample) ----> |
//     |                                     | <-- Give(forecast) -- |  perhaps rounds later
//     | <--------------------- FORECAST n   |
//
// Each sample has exactly one answer: FORECAST, of the last row that it made; TAKEN, when it made
// none; REFUSED, with a word of server/stream/sample.h; or ERROR, when the message was wrong. Whose
// forecast is whose: a device has at most one row that waits for its forecast, and a row is its
// device's next forecast, so the sender of a waiting row is kept under the device's name.
//
// Nothing that comes ends it. What is not understood is answered with ERROR and counted; who sends
// much of it is not listened to for a minute. At most `max_peers` are known: the one that was
// silent longest makes room, if that is kRoomNs or more, and who is silent for kIdleNs is
// forgotten. Who does not read its answers is forgotten when its queue is full; who says
// STREAM_HELLO all the time is not told all again for a minute. A peer that is not known (any more)
// is told so, and says STREAM_HELLO again.
//
// One thread calls everything but Wake; only Wait waits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/session/reject_ledger.h"
#include "server/stream/forecaster.h"
#include "server/stream/payload.h"
#include "server/stream/sample_draft.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

struct SampleServerSettings {
  std::string address;  ///< tcp://HOST:PORT (PORT may be *) or ipc://PATH
  std::string stream;   ///< its name
  std::vector<FieldSettings> fields;
  ForecastSettings forecast;
  std::uint32_t credit = 256;  ///< samples of one peer that may be unanswered
  std::size_t max_peers = 256;
};

/// What became of a sample.
struct SampleOutcome {
  Refusal refusal = Refusal::kNone;
  bool made_rows = false;
  bool due = false;  ///< the last of them waits for its forecast
};

/// Called within TakeSome.
struct SampleEvents {
  std::function<SampleOutcome(const Sample&)> take;
  std::function<void(Refusal)> refused;  ///< before anybody could take it
};

class SampleServer {
 public:
  static constexpr std::int64_t kRoomNs = 30 * kNanosecondsPerSecond;
  static constexpr std::int64_t kIdleNs = 600 * kNanosecondsPerSecond;
  static constexpr int kMostMessages = 256;  ///< of one TakeSome
  using Committed = std::vector<std::pair<std::string, std::uint64_t>>;

  struct Counters {
    std::uint64_t samples = 0, answers = 0;
    std::uint64_t unanswered = 0;                                 ///< their sender was gone
    std::array<std::uint64_t, wire::kRefusalCount> refused = {};  ///< messages, by wire::Refusal
  };

  /// Listens when it returns. `now_ns`: only tests give another clock.
  static Result<std::unique_ptr<SampleServer>> Open(
      SampleServerSettings settings, SampleEvents events,
      std::function<std::int64_t()> now_ns = MonotonicNs);

  /// With the chosen port.
  std::string address() const { return socket_.BoundAddress(); }
  /// Until a message comes, or Wake.
  void Wait(int timeout_ms);
  void Wake() const { wake_.Set(); }  ///< any thread
  /// For a poll of somebody else's: readable when Readable may have become true. Ask that first.
  int fd() const { return socket_.fd(); }
  bool Readable() const { return socket_.Readable(); }

  /// Takes what has come, at most kMostMessages; answers what needs no forecast.
  void TakeSome();
  /// A forecast of the stream: of a sample from here it is the answer.
  void Give(const Forecast& forecast);
  /// What the newest checkpoint holds, of all devices: their senders are told, and who comes later.
  void Commit(Committed committed);
  /// At the end of a round: tells some of what is committed, and forgets who is silent or gone. Who
  /// has no room for it now is told a second later.
  void EndRound();
  /// The learner ends. Whoever is known is told, and nobody is known then.
  void SayGoodbye();

  /// Something waits to be told that no message would remind us of.
  bool has_news() const { return has_news_; }
  std::size_t peers() const { return peers_.size(); }
  const Counters& counters() const { return counters_; }
  /// One per field, over all samples that could be read.
  std::span<const FieldCounts> field_counts() const { return draft_.counts(); }
  /// Of counters().refused what is not 0, as "wire-malformed".
  std::vector<std::pair<std::string, std::uint64_t>> RefusedMessages() const;

 private:
  struct Peer {
    std::uint64_t sender = 0, session = 0;  ///< `session` counts all that ever began here
    std::uint64_t last_number = 0;
    std::uint32_t unanswered = 0;
    bool doubles = false;  ///< it reads FORECASTs with doubles
    std::int64_t heard_ns = 0;
    bool greeting = false;             ///< is being told all of committed_
    std::vector<std::size_t> to_tell;  ///< otherwise: indices of committed_
    std::size_t told = 0;              ///< of these
  };
  /// Whom an answer is for.
  struct Asked {
    PeerId peer;
    std::uint64_t session = 0, number = 0;
    bool doubles = false;
  };
  struct Waiting {
    std::string device;
    Asked asked;
  };

  SampleServer(SampleServerSettings settings, SampleEvents events,
               std::function<std::int64_t()> now_ns, std::unique_ptr<SocketContext> context,
               Socket socket);
  void Hear();
  void HearKnown(Peer* peer, const wire::Header& header);
  bool MayTake(Peer* peer, std::uint64_t number);
  void Greet(const wire::StreamHello& hello, const wire::Header& header);
  std::string Mismatch(const wire::StreamHello& hello) const;
  bool MakeRoom();
  void TakeSample(const wire::Sample& sample, const Asked& asked);
  void Own(const std::string& device, const PeerId& peer);
  Refusal Read(const wire::Sample& sample);
  void Reject(wire::Refusal refusal, const std::string& sentence, std::uint64_t number);
  void Answer(const Asked& asked, const wire::Body& body);
  void FillForecast(const Forecast& forecast, wire::Forecast* answer) const;
  SendOutcome Send(const PeerId& peer, const wire::Body& body, std::uint64_t number);
  bool TellSome(const PeerId& id, Peer* peer);

  const SampleServerSettings settings_;
  const SampleEvents events_;
  const std::function<std::int64_t()> now_ns_;
  const std::uint64_t incarnation_;
  std::unique_ptr<SocketContext> context_;
  Socket socket_;
  WakeSignal wake_;
  SampleDraft draft_;
  murmurate::Sample sample_;
  Message message_;  ///< the one that is heard
  std::vector<std::span<const std::byte>> frames_;
  std::unordered_map<PeerId, Peer> peers_;
  std::unordered_map<std::string, PeerId> owners_;  ///< who last sent of a device
  std::vector<Waiting> waiting_;                    ///< in the order of their rows
  std::size_t answered_ = 0;                        ///< of waiting_, its first ones
  const std::string* taking_ = nullptr;             ///< the device of the sample being taken
  wire::Body forecast_ = wire::Forecast(), early_ = wire::Forecast();
  bool came_early_ = false;  ///< early_ is of a row of that device
  Committed committed_;
  bool has_news_ = false;
  std::uint64_t sessions_ = 0;
  std::int64_t next_look_ns_ = 0;
  wire::RejectLedger greetings_, rejects_;
  Counters counters_;
};

}  // namespace murmurate
