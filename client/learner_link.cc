#include "client/learner_link.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/platform.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr int kLongestSleepMs = 100;
constexpr int kLingerMs = 200;
constexpr int kMostMessages = 64;  // a round

using Kind = wire::ClientSession::Event::Kind;
using Session = wire::ClientSession::State;

}  // namespace

LearnerLink::LearnerLink(SocketContext& context, std::string address, ClientOptions options,
                         Roster& roster, WeightsReceiver& receiver,
                         std::shared_ptr<SenderBell> bell, std::shared_ptr<SettingsTable> settings)
    : context_(context),
      address_(std::move(address)),
      options_(std::move(options)),
      roster_(roster),
      receiver_(receiver),
      bell_(std::move(bell)),
      settings_(std::move(settings)),
      session_(RandomIdentity()),
      fetcher_(context, session_.sender(),
               options_.updates == Updates::kAutomatic
                   ? std::function<void()>([bell = bell_] { bell->wake.Set(); })
                   : std::function<void()>()),
      started_ns_(MonotonicNs()) {
  OpenSocket();
}

void LearnerLink::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

void LearnerLink::OpenSocket() {
  socket_.reset();
  SocketOptions socket_options;
  socket_options.linger_ms = kLingerMs;
  Result<Socket> opened = Socket::Open(context_, SocketKind::kDealer, socket_options);
  Status status = opened.status();
  if (opened.ok()) {
    socket_ = std::move(*opened);
    status = socket_->Connect(address_);
  }
  if (status.ok()) return;
  socket_.reset();
  if (trouble_ == status.message()) return;  // said
  trouble_ = status.message();
  Log(LogLevel::kError, trouble_);
}

void LearnerLink::PollOnce() {
  const std::int64_t now_ns = MonotonicNs();
  if (!socket_.has_value()) OpenSocket();
  // guard: Client.AgentsThatComeAndGoInHasteAreAllHeard (hangs): the flag that agents have changed
  //   is cleared before they are read
  const bool came = bell_->roster_changed.exchange(false, std::memory_order_acq_rel);
  const bool gone = (came || closing_) && RemoveClosed();
  if (came || gone) Introduce(now_ns);
  roster_.CopyModels(&models_, &models_revision_);
  ReceiveSome(now_ns);
  NotePlayed(now_ns);
  Apply(session_.OnTick(session_.PingDue(now_ns) ? Progress() : wire::Ping(), now_ns), now_ns);
  if (!fetching_from_.empty()) fetcher_.PollOnce(now_ns);
  if (MaySend()) sender_.SendSome(models_, session_, *socket_);
  UpdateState(now_ns);
  if (bell_->complained.exchange(false, std::memory_order_acq_rel)) {
    roster_.PassOnComplaints(options_.log);
  }
  {
    std::lock_guard lock(state_mutex_);
    numbers_.totals = sender_.totals();
  }
  Sleep();
}

bool LearnerLink::RemoveClosed() {
  return roster_.RemoveClosed(
      [this](const AgentCore& agent, std::size_t model) {
        if (!live_) sender_.DropReady(agent, model);
        // guard: Client.AgentsThatComeAndGoInHasteAreAllHeard: a closed agent stays in the session
        //   until its blocks are sent
        return !agent.AnyRing([](const auto& ring) { return ring->HasReady(); });
      },
      &closing_);
}

bool LearnerLink::MaySend() const {
  const Session state = session_.state();
  return adopted_ && socket_.has_value() && !session_.unsure() &&
         (state == Session::kLive || state == Session::kDegraded);
}

void LearnerLink::Sleep() {
  const bool could_send = MaySend() && sender_.MaySend();
  if (!bell_->MaySleep(could_send, [&] { return sender_.AnyToSend(models_); })) return;
  const bool quiet = session_.state() == Session::kLive || roster_.empty();
  sleep_ms_ = quiet ? kLongestSleepMs : std::min(sleep_ms_ * 2, kLongestSleepMs);
  std::vector<Socket*> sockets = fetcher_.sockets();
  if (socket_.has_value()) sockets.push_back(&*socket_);
  Poller(&bell_->wake).Wait(sockets, sender_.blocked() ? 1 : sleep_ms_);
  bell_->wanted.store(false, std::memory_order_relaxed);
}

void LearnerLink::Introduce(std::int64_t now_ns) {
  introduced_ = roster_.HelloModels();
  if (introduced_.empty()) return;
  wire::Hello hello;
  hello.actor_name = options_.name;
  hello.host_identity = HostIdentity();
  hello.pace = options_.pace;
  hello.accept_reset = options_.accept_reset;
  hello.pid = ProcessId();
  hello.models = introduced_;
  sleep_ms_ = 1;
  Apply(session_.Introduce(std::move(hello), now_ns), now_ns);
}

void LearnerLink::ReceiveSome(std::int64_t now_ns) {
  Message message;
  for (int i = 0; i < kMostMessages && socket_.has_value(); ++i) {
    if (!socket_->TryReceive(&message)) return;
    Take(message, now_ns);
  }
}

void LearnerLink::Take(const Message& message, std::int64_t now_ns) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  const auto decoded = wire::Decode(frames);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
    Log(LogLevel::kWarning,
        "a message from " + address_ + " was not understood: " + failure->sentence);
    return;
  }
  const auto& good = std::get<wire::Decoded>(decoded);
  Apply(session_.OnMessage(good, now_ns), now_ns);
  // A refused session is a state, which is announced; one that has ended is begun anew.
  const auto* error = std::get_if<wire::Error>(&good.body);
  if (error != nullptr && error->refusal != wire::Refusal::kNotRegistered &&
      session_.state() != Session::kRefused) {
    Log(LogLevel::kWarning, "the learner refused: " + error->sentence);
  }
  std::lock_guard lock(state_mutex_);
  numbers_.refused = session_.refused_trajectories();
  numbers_.lost = session_.lost_trajectories();
}

void LearnerLink::Send(const wire::Body& body) {
  if (!socket_.has_value()) return;
  const wire::Encoded encoded = wire::Encode(body, session_.sender(), 0);
  Message message;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  (void)socket_->TrySend(message);  // nobody there: the session asks again
}

void LearnerLink::Apply(const wire::ClientSession::Output& output, std::int64_t) {
  for (const wire::Body& body : output.send) Send(body);
  for (const auto& event : output.events) OnEvent(event.kind);
}

void LearnerLink::OnEvent(Kind kind) {
  switch (kind) {
    case Kind::kWelcome:
      return OnWelcome();
    case Kind::kCredit:
      return OnCredit();
    case Kind::kNewVersion:
      return OnNewVersion();
    case Kind::kSettings:
      return settings_->Take(session_.settings());
    case Kind::kCommitted:
      return NoteCommitted();
    case Kind::kGoaway:
      if (!session_.restart_expected()) should_stop_.store(true, std::memory_order_release);
      if (session_.restart_expected() && options_.pace == Pace::kLockstep) AwaitReturn();
      Log(LogLevel::kInfo, "the learner said goodbye: " + session_.reason());
      break;
    case Kind::kRefused:
      break;
    case Kind::kLost:
      CountReconnect();
      OpenSocket();
      break;
  }
  adopted_ = false;
  SetLive(false);  // before the credit that was spent comes back: nobody begins with it
  sender_.EndSession(models_);
}

/// In lock-step nobody plays on meanwhile, so that the run goes on where it was.
void LearnerLink::AwaitReturn() {
  const std::int64_t until_ns =
      MonotonicNs() + std::int64_t{session_.deadline_ms()} * kNanosecondsPerMillisecond;
  comes_back_ns_ = until_ns;
  for (const RosterModel& entry : models_) {
    entry.model->comes_back_ns.store(until_ns, std::memory_order_release);
  }
}

void LearnerLink::NoteCommitted() {
  std::lock_guard lock(state_mutex_);
  numbers_.trajectories_committed = numbers_.steps_committed = 0;
  for (const wire::Committed& committed : session_.committed()) {
    numbers_.trajectories_committed += committed.trajectories;
    numbers_.steps_committed += committed.steps;
  }
}

void LearnerLink::SetLive(bool live) {
  live_ = live;
  if (!live) {
    for (DroppedPlay& dropped : dropped_) dropped.Pause();
  }
  const bool given_up = should_stop() || session_.state() == Session::kRefused;
  for (const RosterModel& entry : models_) {
    ClientModel& model = *entry.model;
    const bool was = model.live.exchange(live, std::memory_order_acq_rel);
    const bool gave_up = model.given_up.exchange(given_up, std::memory_order_acq_rel);
    if (was != live || gave_up != given_up) model.Progress();
  }
}

void LearnerLink::OnCredit() {
  const auto& credit = session_.credit();
  sender_.SetCredit(session_.bytes_total(), credit);
  for (std::size_t i = 0; i < std::min(models_.size(), credit.size()); ++i) {
    ClientModel& model = *models_[i].model;
    model.at_version.store(credit[i].at_version, std::memory_order_release);
    model.steps_total.store(credit[i].steps_total, std::memory_order_release);
    model.Progress();
  }
}

void LearnerLink::OnNewVersion() {
  const auto& credit = session_.credit();
  for (std::size_t i = 0; i < std::min({models_.size(), credit.size(), outfits_.size()}); ++i) {
    if (outfits_[i].over_network) fetcher_.NoteVersion(models_[i].model->name, credit[i].version);
  }
}

void LearnerLink::NotePlayed(std::int64_t now_ns) {
  const std::int64_t since_ns = std::exchange(lived_until_ns_, now_ns);
  lives_.resize(std::max(lives_.size(), introduced_.size()));
  if (!live_) return;
  for (std::size_t i = 0; i < introduced_.size(); ++i) {
    lives_[i].played_ns += (now_ns - since_ns) * std::ssize(models_[i].agents);
  }
}

wire::Ping LearnerLink::Progress() {
  wire::Ping ping;
  const std::size_t count = introduced_.size();
  baseline_.resize(std::max(baseline_.size(), count));
  dropped_.resize(std::max(dropped_.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    const RosterCounts counts = roster_.Counts(i);
    const std::uint64_t unsent = sender_.totals(i).steps_dropped;
    const std::uint64_t dropped = counts.steps_dropped + unsent;
    if (live_) dropped_[i].Look(counts.steps, counts.steps_overrun + unsent);
    const auto policies = models_[i].model->policies();
    const std::int64_t waited = models_[i].model->waited_ns.load(std::memory_order_relaxed);
    // A wait that began before the session is counted whole when it ends.
    const std::int64_t here_ns = std::min(waited - lives_[i].waited_before_ns, lives_[i].played_ns);
    ping.models.push_back({counts.steps - baseline_[i].steps, dropped - baseline_[i].steps_dropped,
                           policies == nullptr ? 0 : policies->version()});
    ping.waits.push_back(
        {static_cast<std::uint64_t>(here_ns), static_cast<std::uint64_t>(lives_[i].played_ns)});
  }
  ping.troubles = Troubles();
  return ping;
}

std::vector<wire::PingTrouble> LearnerLink::Troubles() {
  std::vector<wire::PingTrouble> troubles = roster_.Troubles();
  for (std::size_t i = 0; i < std::min(introduced_.size(), dropped_.size()); ++i) {
    const std::string words = dropped_[i].Words();
    if (words.empty()) continue;
    if (dropped_[i].TakeNews()) {
      Log(LogLevel::kWarning, "model " + introduced_[i].name + ": " + words);
    }
    troubles.push_back({.model = static_cast<std::uint32_t>(i), .sentence = words});
  }
  return troubles;
}

void LearnerLink::Leave() {
  SayGoodbye();
  socket_.reset();
  fetcher_.Disconnect();
}

void LearnerLink::SayGoodbye() {
  const std::int64_t deadline = MonotonicNs() + kLingerMs * kNanosecondsPerMillisecond;
  if (session_.state() != Session::kLive || !socket_.has_value()) return;
  for (;;) {
    const std::int64_t now_ns = MonotonicNs();
    ReceiveSome(now_ns);
    if (!MaySend() || now_ns >= deadline) break;
    roster_.CopyModels(&models_, &models_revision_);
    sender_.SendSome(models_, session_, *socket_);
    const bool any = std::any_of(models_.begin(), models_.end(), [](const RosterModel& entry) {
      return entry.model->ready.load(std::memory_order_seq_cst) > 0;
    });
    if (!any && !sender_.blocked()) break;
    Socket* sockets[] = {&*socket_};
    Poller(&bell_->wake).Wait(sockets, sender_.blocked() ? 1 : 20);
  }
  Send(wire::Bye{});
}

void LearnerLink::CountReconnect() {
  std::lock_guard lock(state_mutex_);
  ++numbers_.reconnects;
}

LearnerLink::Numbers LearnerLink::numbers() const {
  std::lock_guard lock(state_mutex_);
  return numbers_;
}

StateReport LearnerLink::State() const {
  std::lock_guard lock(state_mutex_);
  return state_;
}

}  // namespace murmurate
