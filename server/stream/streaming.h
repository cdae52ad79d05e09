// Streaming: one stream of the config at work: its way to the broker, the socket on which it
// listens for samples (each only if the config says so), its forecaster and the thread mmr-stream
// (.N), put together for the daemon.
//
//   broker --messages--> Input -> Predict --forecasts--> broker       one round: PollOnce
//                                 `--pairs--> batch --ready--> mmr-learn
//   mmr-learn --snapshot, trained, save--> here       under the mutex, which a round holds from its
//                                                     first message to its end
//
// BatchFeed hands over the batches, StreamReport says how the stream is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/stream/batch_feed.h"
#include "server/stream/stream_answers.h"
#include "server/stream/stream_input.h"
#include "server/stream/stream_mailbox.h"
#include "server/stream/stream_report.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"

namespace murmurate {

/// The settings of a stream's broker, with what is looked up when it starts: its password. The
/// status names the stream, and what is wrong with these settings.
Result<MqttSettings> LinkOf(const StreamSettings& stream, bool insecure);

/// The system's clock.
std::int64_t UnixNs();

/// Only tests give others.
struct StreamClock {
  std::function<std::int64_t()> now_ns = MonotonicNs;
  std::function<std::int64_t()> unix_ns = UnixNs;  ///< since 1970 began (UTC)
};

class Streaming {
 public:
  using OnNumbers = StreamReport::OnNumbers;

  /// Connects to nothing yet. `on_numbers` gets stream/error and others once a second, on the
  /// stream's thread.
  static Result<std::unique_ptr<Streaming>> Open(const StreamSettings& settings, bool insecure,
                                                 std::shared_ptr<ExperienceChannel> channel,
                                                 OnNumbers on_numbers, LogCallback log,
                                                 StreamClock clock = {});
  ~Streaming();

  /// Goes on from what Save wrote, and sets the channel's environment steps (pairs that were
  /// learned); to be called before Start.
  Status Load(const StateReader& reader);
  /// `number`: of its model among the run's.
  void Start(int number);
  /// Joins the thread; no batch is handed over after it. The goodbye to the broker is the
  /// destructor's.
  void Stop();

  /// The thread's round: waits up to `timeout_ms` for messages, answers them, and hands a
  /// batch to the learning thread when it is due.
  void PollOnce(int timeout_ms);
  void Wake() const { link_ ? link_->Wake() : server_->Wake(); }  ///< any thread

  // The learning thread; Wake and these at any time before the end of this object.
  void ApplyWeights(std::shared_ptr<const Snapshot> snapshot);
  void OnTrained();
  void Save(const StateWriter& writer);  ///< or after Stop
  bool unsaved() const;                  ///< messages were taken since Save, or this life began
  /// Tells the senders that a checkpoint with what Save wrote is on disk; any thread.
  void Commit(const StateReader& reader);

  Reading Metrics() const;  ///< those of stream_metrics.h; any thread

 private:
  Streaming(const StreamSettings& settings, std::shared_ptr<ExperienceChannel> channel,
            StreamInput input, OnNumbers on_numbers, LogCallback log, StreamClock clock);
  Status OpenLink(bool insecure);
  Status OpenServer();
  void Wait(int timeout_ms);
  void BeginRound();
  SampleOutcome ConsumeSample(const Sample& sample);
  void OnState(bool up, const std::string& sentence);
  void ApplyNews();
  void CountOversized();
  void TellCommitted();
  void SayStatus();

  const StreamSettings settings_;
  const LogCallback log_;
  const StreamClock clock_;
  StreamMailbox mailbox_;

  mutable std::mutex mutex_;  ///< of all below but the link, which only the thread drives
  std::unique_lock<std::mutex> round_{mutex_, std::defer_lock};  ///< the thread's
  StreamAnswers answers_;
  Forecaster forecaster_;
  StreamInput input_;
  BatchFeed feed_;
  StreamReport report_;
  std::uint64_t saved_ = 0;             ///< messages taken by the last Save
  std::uint64_t oversized_before_ = 0;  ///< that the link did not hand over

  std::unique_ptr<SampleServer> server_;  ///< none: no `listen`
  std::unique_ptr<MqttLink> link_;        ///< none: no broker
  std::unique_ptr<Loop> loop_;            ///< last: its thread uses all of the above
};

}  // namespace murmurate
