// murmurate predictor: send a stream's samples over ZeroMQ and receive its forecasts, from inside a
// program, without a broker ([stream.NAME] listen = "tcp://127.0.0.1:7430").
//
//   auto predictor = murmurate::Predictor::Connect("tcp://127.0.0.1:7430");
//   murmurate::Predictor::Answer answer;
//   for (;;) {
//     const double values[] = {Temperature(), Humidity()};
//     (*predictor)->Send("pump-1", values);
//     while ((*predictor)->Receive(&answer, 1000))
//       if (answer.outcome == murmurate::Predictor::Outcome::kForecast)
//         std::printf("%s: next %.2f\n", answer.device.c_str(), answer.values[0].forecast);
//   }
//
// Every sample that Send has taken comes back from Receive once, whatever happens: as a forecast,
// as taken (it made no row of its own), as refused with the reason, or as unanswered: the
// connection was lost before its answer came, and it may or may not have been taken. Samples with
// a `sequence` can be sent again in any case: what was taken is refused as a duplicate and learned
// once.
//
// A daemon that was killed goes on from its last checkpoint, which has less than it had answered.
// Who must lose nothing numbers the samples of each device 1, 2, 3 ..., and, whenever sessions()
// has grown, sends again what follows Committed(device).
//
// No thread of ours: Send and Receive do the work, and one of them should be called every second
// or so (libzmq has two threads, for its sockets). Nothing is thrown. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"

namespace murmurate {

/// PredictorOptions configure Predictor::Connect.
struct PredictorOptions {
  std::string name = "client";  ///< [A-Za-z0-9._-]{1,64}: shown to the operator of the stream
  std::string stream = {};      ///< its name; "": whichever listens there
  /// The fields of the samples, in order: a stream of others refuses us. None: not checked.
  std::vector<std::string> fields = {};
  LogCallback log = {};
};

class PredictorLink;

/// One connection to one stream of a daemon, for any number of devices (see above). One thread.
class Predictor {
 public:
  /// Sent is the result of Send.
  enum class Sent : std::uint8_t {
    kTaken,      ///< its answer will come from Receive
    kNoCredit,   ///< as many are unanswered (or not received) as may be: Receive, then again
    kNoStream,   ///< no session now: State() says why; try again later
    kBadSample,  ///< no name (1 to 128 bytes), or another number of values than fields
  };

  /// SampleOptions are the optional parts of a sample besides its values.
  struct SampleOptions {
    std::int64_t time_ns = 0;  ///< since 1970 began (UTC); 0: it counts as it arrives
    std::optional<std::uint64_t> sequence = {};  ///< counts the device's samples
    std::string_view id = {};                    ///< at most 128 bytes
  };

  enum class Outcome : std::uint8_t {
    kForecast,
    kTaken,       ///< known now, but no row of its own: a grid's cell that goes on, or all missing
    kRefused,     ///< `reason` and `sentence` say why
    kUnanswered,  ///< the connection was lost first
  };

  /// Value is the forecast of one target at one horizon.
  struct Value {
    double forecast = 0;  ///< the model's while it is the better one, else the naive forecast
    double model = 0, baseline = 0;
    float error = 0, baseline_error = 0;  ///< means of the last |errors|; NaN: not known yet
    float coverage = 0;                   ///< share inside the outermost quantiles; NaN: not known
    std::uint32_t count = 0;              ///< of forecasts that these are means of
    bool by_model = false;
    /// 1 - error / baseline_error; 0 while they are not known.
    float skill() const { return baseline_error > 0 ? 1 - error / baseline_error : 0; }
  };

  enum class Alarm : std::uint8_t { kUnchanged, kRaised, kCleared };

  /// To one sample.
  struct Answer {
    Outcome outcome = Outcome::kUnanswered;
    // These identify the sample, as it was sent.
    std::string device, id;
    std::optional<std::uint64_t> sequence;
    // kRefused.
    std::string reason, sentence;  ///< "duplicate", and what to do
    // kForecast; the last of several rows that one sample made on a grid.
    std::uint64_t row = 0, version = 0;  ///< of the device; of the weights, 0: none yet
    std::int64_t time_ns = 0;            ///< of the row
    Alarm alarm = Alarm::kUnchanged;     ///< what this row did to the device's alarm
    std::vector<std::int64_t> due_ns;    ///< [horizons] when what is forecast will be
    std::vector<Value> values;           ///< [targets][horizons]
    std::vector<double> quantiles;       ///< [targets][horizons][quantiles], around `forecast`;
                                         ///< NaN until an error of the device is known
  };

  /// Stream describes the stream as its config declares it.
  struct Stream {
    std::string name;
    std::vector<std::string> fields;
    std::vector<std::uint32_t> targets;   ///< indices of fields
    std::vector<std::uint32_t> horizons;  ///< rows ahead
    std::vector<double> quantiles;
  };

  enum class Phase : std::uint8_t {
    kNoStream,  ///< no answer from the address, or no room for this client now
    kLive,
    kRefused,  ///< the stream will not have us; asked again every 5 s
  };
  /// StateReport says whether samples are taken now.
  struct StateReport {
    Phase phase = Phase::kNoStream;
    std::string reason;  ///< one sentence; empty when kLive
  };

  /// Returns at once, daemon or not; fails only for bad arguments.
  static Result<std::unique_ptr<Predictor>> Connect(const std::string& address,
                                                    PredictorOptions options = {});
  /// Says goodbye; at most 200 ms.
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// Never waits. `values`: one for each field of the stream, in order; NaN: missing. A stream with
  /// horizon = 0 has its targets after its fields, and NaN where one is not known. Nothing goes
  /// out in a session that begins within this call, so a caller that reads sessions() before it
  /// sends never leaves a gap. They travel as doubles; with a stream that does not read these, as
  /// float32.
  Sent Send(std::string_view device, std::span<const double> values, const SampleOptions& options);
  /// The same of float32.
  Sent Send(std::string_view device, std::span<const float> values, const SampleOptions& options);
  /// The same, with nothing said besides.
  Sent Send(std::string_view device, std::span<const double> values) {
    return Send(device, values, SampleOptions());
  }
  /// The same of float32, with nothing said besides.
  Sent Send(std::string_view device, std::span<const float> values) {
    return Send(device, values, SampleOptions());
  }
  /// The next answer; waits for it at most `timeout_ms` (0: not at all). False: none. Give the same
  /// `answer` again: its memory goes back to where the next one is put.
  bool Receive(Answer* answer, int timeout_ms);

  StateReport State() const;
  /// The last that was there; all empty before the first.
  const Stream& stream() const;
  /// How often a session has begun. When it grows, what the stream knows may be less than before.
  std::uint64_t sessions() const;
  /// The last sequence number of this device that is in a checkpoint on disk, as far as the stream
  /// has said: when a session begins, and after each checkpoint of what we sent.
  std::optional<std::uint64_t> Committed(std::string_view device) const;
  /// Taken by Send, and not come back from Receive.
  std::size_t in_flight() const;

 private:
  explicit Predictor(std::unique_ptr<PredictorLink> link);
  std::unique_ptr<PredictorLink> link_;
};

}  // namespace murmurate
