#include "client/learner_link.h"

#include <algorithm>
#include <functional>
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

SocketOptions HowToOpen() {
  SocketOptions options;
  options.linger_ms = kLingerMs;
  return options;
}

/// True when the client holds weights of another learner.
bool HoldsOthers(const std::vector<wire::HelloModel>& models, std::uint64_t incarnation) {
  return std::ranges::any_of(models, [&](const wire::HelloModel& model) {
    return model.holds_incarnation != 0 && model.holds_incarnation != incarnation;
  });
}

}  // namespace

LearnerLink::LearnerLink(SocketContext& context, std::string address, ClientOptions options,
                         AgentRegistry& registry, WeightsReceiver& receiver,
                         std::shared_ptr<SenderWakeup> wakeup,
                         std::shared_ptr<SettingsTable> settings)
    : address_(std::move(address)),
      options_(std::move(options)),
      registry_(registry),
      wakeup_(std::move(wakeup)),
      settings_(std::move(settings)),
      session_(RandomIdentity()),
      socket_(context, address_, session_.sender(), HowToOpen()),
      fetcher_(context, session_.sender(),
               options_.updates == Updates::kAutomatic
                   ? std::function<void()>([wakeup = wakeup_] { wakeup->wake.Set(); })
                   : std::function<void()>()),
      setups_(receiver, fetcher_, options_.log),
      play_(registry, sender_, options_.log),
      state_(address_, options_.log) {
  OpenSocket();
}

void LearnerLink::Log(LogLevel level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

void LearnerLink::OpenSocket() {
  const Status status = socket_.Open();
  if (status.ok() || trouble_ == status.message()) return;
  trouble_ = status.message();
  Log(LogLevel::kError, trouble_);
}

void LearnerLink::PollOnce() {
  const std::int64_t now_ns = MonotonicNs();
  if (!socket_.is_open()) OpenSocket();
  // guard: Client.AgentsThatComeAndGoInHasteAreAllHeard (hangs): the flag that agents have changed
  //   is cleared before they are read
  const bool came = wakeup_->registry_changed.exchange(false, std::memory_order_acq_rel);
  const bool gone = (came || closing_) && RemoveClosed();
  if (came || gone) Introduce(now_ns);
  registry_.CopyModels(&models_, &models_revision_);
  ReceiveSome(now_ns);
  const std::size_t introduced = setups_.introduced().size();
  play_.NotePlayed(models_, introduced, live_, now_ns);
  const bool due = session_.PingDue(now_ns);
  Apply(session_.OnTick(due ? play_.Ping(models_, introduced, live_) : wire::Ping(), now_ns));
  if (setups_.fetches()) fetcher_.PollOnce(now_ns);
  UpdateState(now_ns);  // first: a game whose experience has arrived is told that it is in session
  if (MaySend()) sender_.SendSome(models_, session_, *socket_.get());
  if (wakeup_->complained.exchange(false, std::memory_order_acq_rel)) {
    registry_.PassOnComplaints(options_.log);
  }
  state_.NoteSent(sender_.totals());
  Sleep();
}

bool LearnerLink::RemoveClosed() {
  return registry_.RemoveClosed(
      [this](const AgentCore& agent, std::size_t model) {
        if (!live_) sender_.DropReady(agent, model);
        // guard: Client.AgentsThatComeAndGoInHasteAreAllHeard: a closed agent stays in the session
        //   until its blocks are sent
        return !agent.shared().AnyRing([](const auto& ring) { return ring->HasReady(); });
      },
      &closing_);
}

bool LearnerLink::MaySend() const {
  const Session state = session_.state();
  return adopted_ && socket_.is_open() && !session_.unsure() &&
         (state == Session::kLive || state == Session::kDegraded);
}

void LearnerLink::Sleep() {
  const bool could_send = MaySend() && sender_.MaySend();
  if (!wakeup_->MaySleep(could_send, [&] { return sender_.AnyToSend(models_); })) return;
  const bool quiet = session_.state() == Session::kLive || registry_.empty();
  sleep_ms_ = quiet ? kLongestSleepMs : std::min(sleep_ms_ * 2, kLongestSleepMs);
  std::vector<Socket*> sockets = fetcher_.sockets();
  sockets.push_back(socket_.get());
  Poller(&wakeup_->wake).Wait(sockets, sender_.blocked() ? 1 : sleep_ms_);
  wakeup_->wanted.store(false, std::memory_order_relaxed);
}

void LearnerLink::Introduce(std::int64_t now_ns) {
  setups_.Introduce(registry_.HelloModels());
  if (setups_.introduced().empty()) return;
  wire::Hello hello;
  hello.actor_name = options_.name;
  hello.host_identity = HostIdentity();
  hello.pace = options_.pace;
  hello.accept_reset = options_.accept_reset;
  hello.pid = ProcessId();
  hello.models = setups_.introduced();
  sleep_ms_ = 1;
  Apply(session_.Introduce(std::move(hello), now_ns));
}

void LearnerLink::ReceiveSome(std::int64_t now_ns) {
  for (int i = 0; i < kMostMessages; ++i) {
    const auto received = socket_.Receive();
    if (!received.has_value()) return;
    if (const auto* failure = std::get_if<wire::DecodeFailure>(&*received)) {
      Log(LogLevel::kWarning,
          "a message from " + address_ + " was not understood: " + failure->sentence);
    } else {
      OnMessage(std::get<wire::Decoded>(*received), now_ns);
    }
  }
}

void LearnerLink::OnMessage(const wire::Decoded& message, std::int64_t now_ns) {
  Apply(session_.OnMessage(message, now_ns));
  // A refused session is a state, which is announced; one that has ended is begun anew.
  const auto* error = std::get_if<wire::Error>(&message.body);
  if (error != nullptr && error->refusal != wire::Refusal::kNotRegistered &&
      session_.state() != Session::kRefused) {
    Log(LogLevel::kWarning, "the learner refused: " + error->sentence);
  }
  state_.NoteRefused(session_.totals());
}

void LearnerLink::Apply(const wire::ClientSession::Output& output) {
  // With no learner there, a message is lost; the session asks again.
  for (const wire::Body& body : output.send) (void)socket_.Send(body);
  for (const auto& event : output.events) OnEvent(event.kind);
}

void LearnerLink::OnEvent(Kind kind) {
  switch (kind) {
    case Kind::kWelcome:
      return OnWelcome();
    case Kind::kCredit:
      return OnCredit();
    case Kind::kNewVersion:
      return setups_.NoteVersions(models_, session_.totals().credit());
    case Kind::kSettings:
      return settings_->Apply(session_.settings());
    case Kind::kCommitted:
      return state_.NoteCommitted(session_.totals());
    case Kind::kGoaway:
      if (!session_.restart_expected()) state_.Stop();
      if (session_.restart_expected() && options_.pace == Pace::kLockstep) AwaitReturn();
      Log(LogLevel::kInfo, "the learner is stopping: " + session_.reason());
      break;
    case Kind::kRefused:
      break;
    case Kind::kLost:
      state_.CountReconnect();
      OpenSocket();
      break;
  }
  adopted_ = false;
  SetLive(false);  // before the credit that was spent comes back: no agent begins with it
  sender_.EndSession(models_);
}

/// In lock-step no agent plays on meanwhile, so that the run goes on where it was.
void LearnerLink::AwaitReturn() {
  const std::int64_t until_ns =
      MonotonicNs() + std::int64_t{session_.deadline_ms()} * kNanosecondsPerMillisecond;
  for (const RegisteredModel& entry : models_) {
    entry.model->comes_back_ns.store(until_ns, std::memory_order_release);
  }
}

void LearnerLink::SetLive(bool live) {
  live_ = live;
  if (!live) play_.Pause();
  const bool given_up = state_.should_stop() || session_.state() == Session::kRefused;
  for (const RegisteredModel& entry : models_) {
    ClientModel& model = *entry.model;
    const bool was = model.live.exchange(live, std::memory_order_acq_rel);
    const bool gave_up = model.given_up.exchange(given_up, std::memory_order_acq_rel);
    if (was != live || gave_up != given_up) model.wait.Progress();
  }
}

void LearnerLink::OnCredit() {
  const auto& credit = session_.totals().credit();
  sender_.SetCredit(session_.totals().bytes(), credit);
  for (std::size_t i = 0; i < std::min(models_.size(), credit.size()); ++i) {
    ClientModel& model = *models_[i].model;
    model.at_version.store(credit[i].at_version, std::memory_order_release);
    model.credit.Grant(credit[i].steps_total);
    model.wait.Progress();
  }
}

void LearnerLink::OnWelcome() {
  const wire::HelloOk& hello_ok = *session_.hello_ok();
  auto models = models_;
  models.resize(std::min({models.size(), hello_ok.models.size(), setups_.introduced().size()}));
  trouble_.clear();
  adopted_ = false;
  if (!hello_ok.resumed && !options_.accept_reset &&
      HoldsOthers(registry_.HelloModels(), hello_ok.incarnation)) {
    trouble_ = "the learner at " + address_ +
               " started afresh, and this client holds weights of an earlier one: playing on with "
               "them and sending nothing; set ClientOptions::accept_reset to follow the new one";
    return sender_.EndSession(models);
  }
  const auto specs = ModelSetups::ReadSpecs(hello_ok, models);
  if (!specs.ok()) {
    trouble_ = specs.status().message();
    return sender_.EndSession(models);
  }
  adopted_ = true;
  if (setups_.Follow(hello_ok, models)) play_.RecordBaseline(models);
  sender_.BeginSession(hello_ok, models, *specs, session_.fresh_session());
  OnCredit();
  // Live before the first weights can come: a game that waits for them is under its pace at once.
  // guard: Client.LockstepPlaysEachBatchUnderTheVersionItsCreditIsFor (3 to 5 of 5): the session
  //   counts as live before the first weights can come
  SetLive(true);
  for (const RegisteredModel& entry : models) {
    entry.model->comes_back_ns.store(0, std::memory_order_release);
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    setups_.SetUp(models[i], i, (*specs)[i], hello_ok);
  }
}

void LearnerLink::UpdateState(std::int64_t now_ns) {
  const bool live = adopted_ && session_.state() == Session::kLive;
  if (live != live_) SetLive(live);
  state_.Announce(Describe(live), now_ns);
  play_.NoteWaiting(models_, now_ns);
}

StateReport LearnerLink::Describe(bool live) const {
  const Session session = session_.state();
  StateReport report{ClientState::kLive, ""};
  const bool comes_back =
      std::any_of(models_.begin(), models_.end(),
                  [](const RegisteredModel& entry) { return entry.model->comes_back(); });
  const bool waiting =
      std::any_of(models_.begin(), models_.end(),
                  [](const RegisteredModel& entry) { return !entry.model->weights.any(); });
  if (session == Session::kRefused) {
    report = {ClientState::kRefused, session_.reason()};
  } else if (!trouble_.empty()) {
    report = {ClientState::kDegraded, trouble_};
  } else if (!live && comes_back) {
    report = {ClientState::kDegraded,
              "the learner at " + address_ + " is to come back: waiting for it"};
  } else if (!live && setups_.followed_any()) {
    report = {ClientState::kDegraded, "the learner at " + address_ +
                                          " is silent or gone: playing on, and trying to reach it"};
  } else if (!live) {
    report = {ClientState::kNoLearner,
              "no learner answers at " + address_ + "; start one with `murmurate serve`"};
  } else if (waiting) {
    report = {ClientState::kWaitingForWeights,
              options_.updates == Updates::kManual
                  ? "in session, no weights have been loaded yet: call Update()"
                  : "in session, no weights have come yet"};
  }
  for (const RegisteredModel& entry : models_) {
    if (report.state != ClientState::kLive || entry.model->weights.unplayable() == 0) continue;
    report = {ClientState::kDegraded,
              "version " + std::to_string(entry.model->weights.unplayable()) + " of model " +
                  entry.model->name + " cannot be played, so the last one is: " +
                  entry.model->weights.unplayable_reason()};
  }
  report.in_session = session == Session::kLive;
  return report;
}

void LearnerLink::Leave() {
  SayGoodbye();
  socket_.Close();
  fetcher_.Disconnect();
}

void LearnerLink::SayGoodbye() {
  const std::int64_t deadline = MonotonicNs() + kLingerMs * kNanosecondsPerMillisecond;
  if (session_.state() != Session::kLive || !socket_.is_open()) return;
  for (;;) {
    const std::int64_t now_ns = MonotonicNs();
    ReceiveSome(now_ns);
    if (!MaySend() || now_ns >= deadline) break;
    registry_.CopyModels(&models_, &models_revision_);
    sender_.SendSome(models_, session_, *socket_.get());
    const bool any = std::any_of(models_.begin(), models_.end(), [](const RegisteredModel& entry) {
      return entry.model->ready.load(std::memory_order_seq_cst) > 0;
    });
    if (!any && !sender_.blocked()) break;
    Socket* sockets[] = {socket_.get()};
    Poller(&wakeup_->wake).Wait(sockets, sender_.blocked() ? 1 : 20);
  }
  (void)socket_.Send(wire::Bye{});
}

}  // namespace murmurate
