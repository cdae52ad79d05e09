#include "server/stream/streaming.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "server/stream/mqtt_password.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kMostGiven = 2;
constexpr int kTimeoutMs = 200;
constexpr double kMostDeviceBytes = 0x1p32;
constexpr const char* kOffline = "{\"state\":\"offline\"}";

}  // namespace

std::int64_t UnixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<MqttSettings> LinkOf(const StreamSettings& stream, bool insecure) {
  MqttSettings link = stream.link;
  link.insecure = insecure;
  if (!stream.status.empty()) link.will = MqttWill{stream.status, kOffline, 1, true};
  const bool file = !stream.password_file.empty();
  Status status;
  if (file || !stream.password_env.empty()) {
    auto password =
        file ? ReadPasswordFile(stream.password_file) : ReadPasswordVariable(stream.password_env);
    if (password.ok()) link.password = *std::move(password);
    status = password.status();
  }
  if (status.ok()) status = CheckMqttSettings(link);
  if (status.ok()) return link;
  return InvalidArgument(stream.origin + ": " + status.message());
}

Streaming::Streaming(const StreamSettings& settings, std::shared_ptr<ExperienceChannel> channel,
                     PayloadReader reader, StreamLabels labels, OnNumbers on_numbers,
                     LogCallback log, StreamClock clock)
    : settings_(settings),
      channel_(std::move(channel)),
      on_numbers_(std::move(on_numbers)),
      log_(std::move(log)),
      clock_(std::move(clock)),
      answers_(settings_,
               [this](const std::string& topic, std::string_view payload, int qos, bool retain) {
                 const auto outcome = link_->Publish(topic, payload, qos, retain);
                 return outcome == PublishOutcome::kAccepted || outcome == PublishOutcome::kRefused;
               }),
      forecaster_(settings_.forecast, channel_->spec,
                  [this](const Forecast& forecast) {
                    if (server_) server_->Give(forecast);
                    if (link_) answers_.Give(forecast, clock_.now_ns());
                  }),
      reader_(std::move(reader)),
      labels_(std::move(labels)),
      began_ns_(clock_.unix_ns()),
      next_second_ns_(clock_.now_ns() + kNanosecondsPerSecond) {}

Result<std::unique_ptr<Streaming>> Streaming::Open(const StreamSettings& settings, bool insecure,
                                                   std::shared_ptr<ExperienceChannel> channel,
                                                   OnNumbers on_numbers, LogCallback log,
                                                   StreamClock clock) {
  auto reader = PayloadReader::Make(settings.payload);
  if (!reader.ok()) return reader.status();
  auto labels = StreamLabels::Make(settings);
  if (!labels.ok()) return labels.status();
  std::unique_ptr<Streaming> stream(new Streaming(settings, std::move(channel), *std::move(reader),
                                                  *std::move(labels), std::move(on_numbers),
                                                  std::move(log), std::move(clock)));
  const TrajectoryLayout layout = settings.layout(stream->channel_->spec);
  const double most_bytes =
      static_cast<double>(stream->forecaster_.bytes_per_device()) * settings.forecast.max_devices +
      static_cast<double>(ReplayWindow::BytesOf(layout, settings.replay));
  if (most_bytes > kMostDeviceBytes)
    return InvalidArgument(
        settings.origin + ": " + std::to_string(settings.forecast.max_devices) + " devices" +
        (settings.replay > 0 ? " and what is replayed" : "") + " may take " +
        std::to_string(static_cast<int>(most_bytes * 0x1p-30)) +
        " GiB, expected 4 at most; lower max_devices, season, window, label_window or horizon" +
        (settings.replay > 0 ? ", or replay" : ""));
  if (settings.replay > 0)
    stream->replay_ = std::make_unique<ReplayWindow>(layout, settings.replay, settings.seed);
  if (settings.has_broker) MURMURATE_RETURN_IF_ERROR(stream->OpenLink(insecure));
  if (!settings.listen.empty()) MURMURATE_RETURN_IF_ERROR(stream->OpenServer());
  return stream;
}

Status Streaming::OpenLink(bool insecure) {
  auto link = LinkOf(settings_, insecure);
  if (!link.ok()) return link.status();
  auto opened = MqttLink::Open(*std::move(link),
                               {[this](const MqttMessage& message) { Take(message); },
                                [this](bool up, const std::string& why) { OnState(up, why); }});
  if (!opened.ok()) return InvalidArgument(settings_.origin + ": " + opened.status().message());
  link_ = *std::move(opened);
  return {};
}

Status Streaming::OpenServer() {
  auto opened = SampleServer::Open(
      {settings_.listen, settings_.name, settings_.payload.fields, settings_.forecast},
      {[this](const Sample& sample) { return TakeSample(sample); },
       [this](Refusal refusal) { counts_.Add(refusal); }},
      clock_.now_ns);
  if (!opened.ok())
    return Status(opened.status().code(), settings_.origin + ": " + opened.status().message());
  server_ = *std::move(opened);
  log_(LogLevel::kInfo, "stream " + settings_.name + ": listens on " + server_->address());
  if (link_) link_->AlsoWaitFor(server_->fd());
  return {};
}

Streaming::~Streaming() { Stop(); }

Status Streaming::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(forecaster_.Load(reader));
  if (replay_) MURMURATE_RETURN_IF_ERROR(replay_->Load(reader.Section("replay")));
  if (const auto refusals = reader.AllWords("refusals"); refusals.ok()) counts_.GoOnFrom(*refusals);
  for (std::size_t i = 0; i < kRefusals; ++i) logged_[i].count = counts_[static_cast<Refusal>(i)];
  saved_ = counts_[Refusal::kNone];
  messages_before_ = forecaster_.totals().messages;
  drifts_before_ = forecaster_.totals().drifts;
  channel_->environment_steps.store(forecaster_.totals().learned);
  auto sequences = Forecaster::SavedSequences(reader);
  if (sequences.ok()) safe_ = *std::move(sequences);
  if (server_) server_->Commit(safe_);
  return sequences.status();
}

void Streaming::Start(int number) {
  loop_ = std::make_unique<Loop>(
      number == 0 ? "mmr-stream" : "mmr-stream." + std::to_string(number),
      [this] { PollOnce(kTimeoutMs); }, [this] { Wake(); });
}

void Streaming::Stop() {
  if (loop_ == nullptr) return;
  loop_.reset();
  next_second_ns_ = std::numeric_limits<std::int64_t>::max();
  answers_.GiveRest();
  if (!settings_.status.empty()) link_->Publish(settings_.status, kOffline, 1, true);
  PollOnce(0);
  if (!server_) return;
  const std::lock_guard lock(mutex_);
  server_->SayGoodbye();
}

void Streaming::PollOnce(int timeout_ms) {
  Wait(std::min(timeout_ms, wait_ms_));
  BeginRound();
  if (server_) server_->TakeSome();
  TakeNews();
  forecaster_.Predict();
  CountOversized();
  FillBatch();
  const std::int64_t now_ns = clock_.now_ns();
  answers_.GiveDue(now_ns);
  if (now_ns >= next_second_ns_) EachSecond(now_ns);
  if (server_) server_->EndRound();
  EndRound();
}

void Streaming::Wait(int timeout_ms) {
  if (server_ && (server_->has_news() || server_->Readable())) timeout_ms = 0;
  if (link_) {
    (void)link_->PollOnce(timeout_ms);
  } else {
    server_->Wait(timeout_ms);
  }
}

void Streaming::BeginRound() {
  if (!round_.owns_lock()) round_.lock();
}

void Streaming::EndRound() {
  if (round_.owns_lock()) round_.unlock();
}

void Streaming::Take(const MqttMessage& message) {
  BeginRound();
  counts_.Add(Read(message));
}

Refusal Streaming::Read(const MqttMessage& message) {
  if (message.retained) return Refusal::kRetained;
  Refusal refusal = settings_.subscribe.Match(message.topic, &levels_);
  if (refusal == Refusal::kUnknownTopic)
    return labels_.Take(message.topic, message.payload, &forecaster_);
  if (refusal != Refusal::kNone) return refusal;
  sample_.device = settings_.subscribe.DeviceOf(levels_);
  refusal = reader_.Read(message.payload, &sample_);
  if (refusal != Refusal::kNone) return refusal;
  answers_.Remember(sample_.device, levels_);  // before a forecast of it may go out
  return forecaster_.Take(sample_, clock_.unix_ns());
}

SampleOutcome Streaming::TakeSample(const Sample& sample) {
  const std::uint64_t rows = forecaster_.totals().rows;
  const Refusal refusal = forecaster_.Take(sample, clock_.unix_ns());
  counts_.Add(refusal);
  return {refusal, forecaster_.totals().rows > rows, forecaster_.IsDue(sample.device)};
}

void Streaming::OnState(bool up, const std::string& sentence) {
  BeginRound();
  log_(up ? LogLevel::kInfo : LogLevel::kWarning, "stream " + settings_.name + ": " + sentence);
  if (!up) return;
  told_ = 0;
  TellCommitted();  // before anybody goes on at that word
  SayStatus();
}

/// What others have left since the last round.
void Streaming::TakeNews() {
  std::shared_ptr<const Snapshot> snapshot;
  std::vector<std::pair<std::string, std::uint64_t>> committed;
  {
    const std::lock_guard lock(news_mutex_);
    snapshot.swap(snapshot_);
    committed.swap(committed_);
  }
  if (snapshot) forecaster_.TakeWeights(*snapshot);
  if (!committed.empty()) {
    safe_ = std::move(committed);
    told_ = 0;
    if (server_) server_->Commit(safe_);
  }
  if (link_) TellCommitted();
}

/// As many as there is room for; the others in later rounds.
void Streaming::TellCommitted() {
  const int room = settings_.link.maximum_in_flight / 2;
  while (told_ < safe_.size() && link_->up() && link_->in_flight() < room &&
         answers_.GiveCommitted(safe_[told_].first, safe_[told_].second))
    ++told_;
}

void Streaming::FillBatch() {
  wait_ms_ = kTimeoutMs;
  if (!forecaster_.has_pairs()) {
    waiting_since_ns_ = 0;
    return;
  }
  const std::int64_t now_ns = clock_.now_ns();
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  const std::int64_t due_ns =
      waiting_since_ns_ + settings_.max_delay_ms * kNanosecondsPerMillisecond;
  if (given_ >= kMostGiven) return;  // OnTrained wakes
  if (now_ns < due_ns) {
    wait_ms_ = static_cast<int>((due_ns - now_ns) / kNanosecondsPerMillisecond) + 1;
    return;
  }
  auto batch = channel_->empty.TryPop();
  if (!batch) return;  // as one comes back, a batch is done, and OnTrained wakes
  (*batch)->Clear();
  const bool filled = forecaster_.Fill(batch->get());
  channel_->received_trajectories += (*batch)->trajectories.size();
  if (filled && replay_) replay_->Mix(batch->get());
  if (filled) ++given_;
  (void)(filled ? channel_->ready : channel_->empty).TryPush(*std::move(batch));
  if (!forecaster_.has_pairs()) waiting_since_ns_ = 0;
}

void Streaming::EachSecond(std::int64_t now_ns) {
  const double seconds = static_cast<double>(now_ns - next_second_ns_) * 1e-9 + 1.0;
  next_second_ns_ = now_ns + kNanosecondsPerSecond;
  const std::uint64_t messages = forecaster_.totals().messages;
  messages_per_s_ = static_cast<double>(messages - messages_before_) / seconds;
  messages_before_ = messages;
  PostNumbers();
  LogRefusals(now_ns);
  LogDrifts();
  LogStuck();
  SayStatus();
}

void Streaming::TakeWeights(std::shared_ptr<const Snapshot> snapshot) {
  {
    const std::lock_guard lock(news_mutex_);
    snapshot_ = std::move(snapshot);
  }
  Wake();
}

void Streaming::OnTrained() {
  {
    const std::lock_guard lock(mutex_);
    channel_->environment_steps += forecaster_.OnTrained();
    --given_;
  }
  Wake();
}

void Streaming::Save(const StateWriter& writer) {
  const std::lock_guard lock(mutex_);
  forecaster_.Save(writer);
  if (replay_) replay_->Save(writer.Section("replay"));
  writer.Words("refusals", counts_.all());
  saved_ = counts_[Refusal::kNone];
}

bool Streaming::unsaved() const {
  const std::lock_guard lock(mutex_);
  return saved_ != counts_[Refusal::kNone];
}

void Streaming::Commit(const StateReader& reader) {
  if (!settings_.committed && !server_) return;
  auto sequences = Forecaster::SavedSequences(reader);
  if (!sequences.ok()) return log_(LogLevel::kError, sequences.status().message());
  {
    const std::lock_guard lock(news_mutex_);
    committed_ = *std::move(sequences);
  }
  Wake();
}

}  // namespace murmurate
