#include "server/stream/streaming.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/stream/device_state.h"
#include "server/stream/mqtt_password.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

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
                     StreamInput input, OnNumbers on_numbers, LogCallback log, StreamClock clock)
    : settings_(settings),
      log_(std::move(log)),
      clock_(std::move(clock)),
      answers_(settings_,
               [this](const std::string& topic, std::string_view payload, int qos, bool retain) {
                 const auto outcome = link_->Publish(topic, payload, qos, retain);
                 return outcome == PublishOutcome::kAccepted || outcome == PublishOutcome::kRefused;
               }),
      forecaster_(settings_.forecast, channel->spec,
                  [this](const Forecast& forecast) {
                    report_.Take(forecast);
                    if (server_) server_->Give(forecast);
                    if (link_) answers_.Give(forecast, clock_.now_ns());
                  }),
      input_(std::move(input)),
      feed_(settings_, std::move(channel)),
      report_({settings_, forecaster_, input_, feed_, server_, link_}, clock_.now_ns,
              clock_.unix_ns(), std::move(on_numbers), log_) {}

Result<std::unique_ptr<Streaming>> Streaming::Open(const StreamSettings& settings, bool insecure,
                                                   std::shared_ptr<ExperienceChannel> channel,
                                                   OnNumbers on_numbers, LogCallback log,
                                                   StreamClock clock) {
  auto input = StreamInput::Make(settings);
  if (!input.ok()) return input.status();
  const TrajectoryLayout layout = settings.layout(channel->spec);
  std::unique_ptr<Streaming> stream(new Streaming(settings, std::move(channel), *std::move(input),
                                                  std::move(on_numbers), std::move(log),
                                                  std::move(clock)));
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
  stream->feed_.OpenReplay();
  if (settings.has_broker) MURMURATE_RETURN_IF_ERROR(stream->OpenLink(insecure));
  if (!settings.listen.empty()) MURMURATE_RETURN_IF_ERROR(stream->OpenServer());
  return stream;
}

Status Streaming::OpenLink(bool insecure) {
  auto link = LinkOf(settings_, insecure);
  if (!link.ok()) return link.status();
  auto opened = MqttLink::Open(
      *std::move(link), {[this](const MqttMessage& message) {
                           BeginRound();
                           input_.Consume(message, clock_.unix_ns(), &answers_, &forecaster_);
                         },
                         [this](bool up, const std::string& why) { OnState(up, why); }});
  if (!opened.ok()) return InvalidArgument(settings_.origin + ": " + opened.status().message());
  link_ = *std::move(opened);
  return {};
}

Status Streaming::OpenServer() {
  auto opened = SampleServer::Open(
      {settings_.listen, settings_.name, settings_.payload.fields, settings_.forecast},
      {[this](const Sample& sample) { return ConsumeSample(sample); },
       [this](Refusal refusal) { input_.counts().Add(refusal); }},
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
  MURMURATE_RETURN_IF_ERROR(feed_.Load(forecaster_, reader));
  if (const auto refusals = reader.AllWords("refusals"); refusals.ok())
    input_.counts().GoOnFrom(*refusals);
  saved_ = input_.counts()[Refusal::kNone];
  report_.GoOn();
  auto sequences = SavedSequences(reader);
  if (!sequences.ok()) return sequences.status();
  if (server_) server_->Commit(*sequences);
  answers_.Commit(*std::move(sequences));
  return {};
}

void Streaming::Start(int number) {
  loop_ = std::make_unique<Loop>(
      number == 0 ? "mmr-stream" : "mmr-stream." + std::to_string(number),
      [this] { PollOnce(kTimeoutMs); }, [this] { Wake(); });
}

void Streaming::Stop() {
  if (loop_ == nullptr) return;
  loop_.reset();
  report_.Stop();
  answers_.GiveRest();
  if (!settings_.status.empty()) link_->Publish(settings_.status, kOffline, 1, true);
  PollOnce(0);
  if (!server_) return;
  const std::lock_guard lock(mutex_);
  server_->SayGoodbye();
}

void Streaming::PollOnce(int timeout_ms) {
  Wait(std::min(timeout_ms, feed_.wait_ms()));
  BeginRound();
  if (server_) server_->ReceiveSome();
  ApplyNews();
  forecaster_.Predict();
  CountOversized();
  const std::int64_t now_ns = clock_.now_ns();
  feed_.Feed(&forecaster_, now_ns);
  answers_.GiveDue(now_ns);
  if (report_.EachSecond(now_ns)) SayStatus();
  if (server_) server_->EndRound();
  round_.unlock();
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

SampleOutcome Streaming::ConsumeSample(const Sample& sample) {
  const std::uint64_t rows = forecaster_.rows();
  const Refusal refusal = forecaster_.Consume(sample, clock_.unix_ns());
  input_.counts().Add(refusal);
  return {refusal, forecaster_.rows() > rows, forecaster_.IsDue(sample.device)};
}

void Streaming::OnState(bool up, const std::string& sentence) {
  BeginRound();
  log_(up ? LogLevel::kInfo : LogLevel::kWarning, "stream " + settings_.name + ": " + sentence);
  if (!up) return;
  answers_.RestartCommitted();
  TellCommitted();  // before a sender goes on at that word
  SayStatus();
}

/// Applies what other threads have left since the last round.
void Streaming::ApplyNews() {
  StreamMailbox::News news = mailbox_.Pop();
  if (news.snapshot) forecaster_.ApplyWeights(*news.snapshot);
  if (!news.committed.empty()) {
    if (server_) server_->Commit(news.committed);
    answers_.Commit(std::move(news.committed));
  }
  if (link_) TellCommitted();
}

/// Counts what was too large for the link, which has seen no topic of it.
void Streaming::CountOversized() {
  if (!link_) return;
  const std::uint64_t before = std::exchange(oversized_before_, link_->counters().oversized);
  input_.counts().Add(Refusal::kOversized, oversized_before_ - before);
}

/// Tells as many senders as there is room for; the others in later rounds.
void Streaming::TellCommitted() {
  const int room = settings_.link.maximum_in_flight / 2;
  while (link_->up() && link_->in_flight() < room && answers_.GiveNextCommitted()) {
  }
}

/// Publishes the status often, since a client that finds a broker again cannot know how old the
/// kept one is.
void Streaming::SayStatus() {
  if (!settings_.status.empty()) link_->Publish(settings_.status, report_.StatusText(), 1, true);
}

void Streaming::ApplyWeights(std::shared_ptr<const Snapshot> snapshot) {
  mailbox_.Post(std::move(snapshot));
  Wake();
}

void Streaming::OnTrained() {
  {
    const std::lock_guard lock(mutex_);
    feed_.OnTrained(&forecaster_);
  }
  Wake();
}

void Streaming::Save(const StateWriter& writer) {
  const std::lock_guard lock(mutex_);
  forecaster_.Save(writer);
  feed_.Save(writer);
  writer.Words("refusals", input_.counts().all());
  saved_ = input_.counts()[Refusal::kNone];
}

bool Streaming::unsaved() const {
  const std::lock_guard lock(mutex_);
  return saved_ != input_.counts()[Refusal::kNone];
}

void Streaming::Commit(const StateReader& reader) {
  if (!settings_.committed && !server_) return;
  auto sequences = SavedSequences(reader);
  if (!sequences.ok()) return log_(LogLevel::kError, sequences.status().message());
  mailbox_.Post(*std::move(sequences));
  Wake();
}

Reading Streaming::Metrics() const {
  const std::lock_guard lock(mutex_);
  return report_.Measure();
}

}  // namespace murmurate
