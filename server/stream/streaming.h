// Streaming: one stream of the config at work: its way to the broker, the socket on which it
// listens for samples (each only if the config says so), its forecaster and the thread mmr-stream
// (.N), put together for the daemon.
//
//   broker --messages--> Take --> Predict --forecasts--> broker       one round: PollOnce
//                                 `--pairs--> batch --ready--> mmr-learn
//   mmr-learn --snapshot, trained, save--> here       under the mutex, which a round holds from its
//                                                     first message to its end
//
// At most two batches are on their way at once: one in training, and one of what came meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/experience/experience_channel.h"
#include "server/metrics/reading.h"
#include "server/stream/config_stream.h"
#include "server/stream/forecaster.h"
#include "server/stream/mqtt_link.h"
#include "server/stream/replay_window.h"
#include "server/stream/sample_server.h"
#include "server/stream/stream_answers.h"
#include "server/stream/stream_labels.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

/// Of a stream with a broker, with what is looked up when it starts: its password. The status: the
/// stream, and what is wrong with its broker's settings.
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
  using OnNumbers = std::function<void(std::span<const wire::ReportedNumber>)>;

  /// Connects to nothing yet. `on_numbers` gets stream/error and others once a second, on the
  /// stream's thread.
  static Result<std::unique_ptr<Streaming>> Open(const StreamSettings& settings, bool insecure,
                                                 std::shared_ptr<ExperienceChannel> channel,
                                                 OnNumbers on_numbers, LogCallback log,
                                                 StreamClock clock = {});
  ~Streaming();

  /// Before Start: goes on from what Save wrote, and sets the channel's environment steps: pairs
  /// that were learned.
  Status Load(const StateReader& reader);
  /// `number`: of its model among the run's.
  void Start(int number);
  /// Joins the thread; no batch is handed over after it. The goodbye to the broker is the
  /// destructor's.
  void Stop();

  /// What the thread repeats: waits up to `timeout_ms` for messages, answers them, and hands a
  /// batch to the learning thread when it is due.
  void PollOnce(int timeout_ms);
  void Wake() const { link_ ? link_->Wake() : server_->Wake(); }  ///< any thread

  // The learning thread; Wake and these at any time before the end of this object.
  void TakeWeights(std::shared_ptr<const Snapshot> snapshot);
  void OnTrained();
  void Save(const StateWriter& writer);  ///< or after Stop
  bool unsaved() const;                  ///< messages were taken since Save, or this life began
  /// Any thread: a checkpoint with what Save wrote is on disk, and the senders are told.
  void Commit(const StateReader& reader);

  Reading Metrics() const;  ///< those of stream_metrics.h; any thread

 private:
  Streaming(const StreamSettings& settings, std::shared_ptr<ExperienceChannel> channel,
            PayloadReader reader, StreamLabels labels, OnNumbers on_numbers, LogCallback log,
            StreamClock clock);
  Status OpenLink(bool insecure);
  Status OpenServer();
  void Wait(int timeout_ms);
  void BeginRound();
  void EndRound();
  void Take(const MqttMessage& message);
  Refusal Read(const MqttMessage& message);
  SampleOutcome TakeSample(const Sample& sample);
  void OnState(bool up, const std::string& sentence);
  void TakeNews();
  void TellCommitted();
  void FillBatch();
  void EachSecond(std::int64_t now_ns);
  void PostNumbers();
  void LogRefusals(std::int64_t now_ns);
  void LogDrifts();
  void LogStuck();
  void CountOversized();
  std::vector<FieldCounts> CountFields() const;
  void MeasureWays(Reading* reading) const;
  void MeasureMessages(Reading* reading) const;
  void MeasureForecasts(Reading* reading) const;
  Reading Measure() const;
  void SayStatus();

  const StreamSettings settings_;
  const std::shared_ptr<ExperienceChannel> channel_;
  const OnNumbers on_numbers_;
  const LogCallback log_;
  const StreamClock clock_;

  mutable std::mutex mutex_;  ///< of all below but the link, which only the thread drives
  std::unique_lock<std::mutex> round_{mutex_, std::defer_lock};  ///< the thread's
  StreamAnswers answers_;
  Forecaster forecaster_;
  PayloadReader reader_;
  StreamLabels labels_;
  Sample sample_;
  std::vector<std::string_view> levels_;
  RefusalCounts counts_;
  std::unique_ptr<ReplayWindow> replay_;  ///< null: off
  std::uint64_t saved_ = 0;               ///< messages taken by the last Save
  int given_ = 0;                         ///< batches handed over and not trained on
  int wait_ms_ = 0;                       ///< at most, for messages: a batch is due then
  std::int64_t waiting_since_ns_ = 0;     ///< pairs are; 0: none
  const std::int64_t began_ns_;           ///< since 1970; of this life
  std::int64_t next_second_ns_;
  std::uint64_t messages_before_ = 0, drifts_before_ = 0;
  std::uint64_t oversized_before_ = 0;  ///< that the link did not hand over
  bool told_of_stuck_ = false;
  double messages_per_s_ = 0;
  struct Logged {
    std::uint64_t count = 0;
    std::int64_t next_ns = 0;
  };
  std::array<Logged, kRefusals> logged_;
  std::string status_text_;
  std::vector<std::pair<std::string, std::uint64_t>> safe_;  ///< on disk, told when we come up
  std::size_t told_ = 0;                                     ///< how many of them

  mutable std::mutex news_mutex_;
  std::shared_ptr<const Snapshot> snapshot_;                      ///< not taken up yet
  std::vector<std::pair<std::string, std::uint64_t>> committed_;  ///< not told yet

  std::unique_ptr<SampleServer> server_;  ///< none: no `listen`
  std::unique_ptr<MqttLink> link_;        ///< none: no broker
  std::unique_ptr<Loop> loop_;            ///< last: its thread uses all of the above
};

}  // namespace murmurate
