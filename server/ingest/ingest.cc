#include "server/ingest/ingest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "server/ingest/ingest_state.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {
namespace {

constexpr int kMessagesARound = 256;
constexpr std::size_t kBytesARound = 8u << 20;

}  // namespace

void Ingest::State::CollectReturned(std::int64_t now_ns) {
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    Assembly& assembly = models[model];
    // guard: IngestThreads.LockstepCreditNamesTheVersionTrainedOnTheBatchBefore (with 100 us
    //   between the two loads): `credit` is read before `version`, so credit names the
    //   version trained on that batch
    const std::uint64_t done = assembly.channel().credit.load(std::memory_order_acquire);
    const std::uint64_t version = assembly.channel().version.load(std::memory_order_acquire);
    if (done != assembly.done_seen) {
      session.SetLearned(model, assembly.channel().learned_steps.load(std::memory_order_acquire));
      const int count = static_cast<int>(done - assembly.done_seen);
      session.ReleaseTrajectories(model, count, version, now_ns);
    } else if (version != assembly.version_seen) {
      session.SetVersion(model, version);
    }
    if (done != assembly.done_seen || version != assembly.version_seen) pace.Hurry();
    assembly.channel().staleness.Collect(&ages);
    for (const StalenessMail::Age& age : ages) session.CountStaleness(age.sender, age.versions);
    assembly.done_seen = done;
    assembly.version_seen = version;
    intake.AddWaiting(model, now_ns);
  }
}

/// Runs after CollectReturned: settings set before a version go out before the credit of it.
void Ingest::State::ApplySettings() {
  const std::lock_guard lock(mail_mutex);
  if (!settings_mail) return;
  session.SetSettings(*std::exchange(settings_mail, std::nullopt));
  pace.Hurry();
}

void Ingest::State::OnMessage(Message message, std::int64_t now_ns) {
  std::array<std::span<const std::byte>, 4> frames;
  const std::size_t count = std::min(message.frames.size(), frames.size());
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    frames[i] = message.frames[i].bytes();
    size += frames[i].size();
  }
  ++messages;
  bytes += size;
  auto decoded = wire::Decode(std::span(frames).first(count));
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
    session.OnUndecodable(message.peer, *failure, now_ns);
    pace.Hurry();
    return;
  }
  auto& good = std::get<wire::Decoded>(decoded);
  if (std::holds_alternative<wire::Experience>(good.body)) {
    intake.OnExperience(std::move(message), std::move(good), now_ns);
    return;
  }
  pace.Hurry();
  if (const auto* hello = std::get_if<wire::Hello>(&good.body)) {
    event_log.Name(message.peer, hello->actor_name, now_ns);
  }
  requests.Converse(std::move(message.peer), std::move(good), now_ns);
}

void Ingest::State::Answer(std::int64_t now_ns) {
  pace.Answered();
  std::vector<wire::ServerSession::Reply> replies = session.PopReplies();
  for (const auto& reply : replies) event_log.NoteReply(reply, now_ns);
  const ReplyQueue::Unreached unreached = reply_queue.Send(std::move(replies));
  for (const std::string& peer : unreached.gone) session.OnUnreachable(peer, now_ns);
  for (const std::string& peer : unreached.stuck) session.OnStuck(peer, now_ns);
}

/// Receives one round's messages and returns how many there were.
int Ingest::State::Receive(std::int64_t now_ns) {
  const std::uint64_t bytes_before = bytes;
  int count = 0;
  for (; count < kMessagesARound && bytes - bytes_before < kBytesARound; ++count) {
    Message message;
    if (!socket.TryReceive(&message)) break;
    OnMessage(std::move(message), now_ns);
  }
  return count;
}

int Ingest::State::Round(std::int64_t now_ns) {
  CollectReturned(now_ns);
  ApplySettings();
  if (requests.AddMade(now_ns)) pace.Hurry();
  const int count = Receive(now_ns);
  if (count > 0) pace.StayAwake(now_ns);
  const bool lockstep = session.any_lockstep();
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    if (count > 0) intake.CountSteps(model);
    if (lockstep) continue;
    const int live_agents = session.live_agents(model);
    intake.FollowAgents(model, live_agents, now_ns);
    intake.CloseDue(model, live_agents, now_ns);
  }
  if (pace.Tick(now_ns)) {
    session.OnTick(now_ns);
    if (session.any_here() || reply_queue.pending() > 0) pace.StayAwake(now_ns);
    pace.Hurry();
  }
  if (pace.AnswerDue(now_ns) || reply_queue.pending() > 0) Answer(now_ns);
  if (event_log.due(now_ns)) LogActors(now_ns);
  return count;
}

void Ingest::State::LogActors(std::int64_t now_ns) {
  event_log.NoteActors(session.Actors(now_ns), now_ns);
  for (std::uint32_t model = 0; model < models.size(); ++model) {
    const Assembly& assembly = models[model];
    event_log.NoteWaiting(assembly.name(), assembly.Waiting(session.live_agents(model), now_ns),
                          now_ns);
  }
}

Result<std::unique_ptr<Ingest>> Ingest::Open(SocketContext& context, IngestOptions options,
                                             OfferModel offer) {
  if (options.listen.empty()) {
    return InvalidArgument(
        "server.listen: expected at least one address, such as "
        "\"tcp://127.0.0.1:7420\", got none");
  }
  Result<Socket> socket = Socket::Open(context, SocketKind::kRouter);
  if (!socket.ok()) return socket.status();
  std::vector<std::string> bound;
  for (const std::string& address : options.listen) {
    MURMURATE_RETURN_IF_ERROR(socket->Bind(address));
    bound.push_back(socket->BoundAddress());
  }
  Result<AddressFamily> family = SisterAddresses(bound.front());
  if (!family.ok()) return family.status();
  auto state = std::make_unique<State>(*std::move(socket), std::move(options), std::move(offer));
  state->addresses = std::move(bound);
  state->session.SetAddresses(family->announce, family->weights, HostIdentity());
  return std::unique_ptr<Ingest>(new Ingest(std::move(state)));
}

Ingest::Ingest(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ingest::~Ingest() = default;

void Ingest::PollOnce(int timeout_ms) {
  int received = 0;
  {
    // guard: IngestThreads.AReportMayBeTakenWhileIngestWorks (tsan): a round and a report exclude
    //   each other
    const std::lock_guard lock(state_->mutex);
    const std::int64_t now_ns = MonotonicNs();
    received = state_->Round(now_ns);
    timeout_ms = state_->pace.WaitMs(timeout_ms, now_ns);
  }
  if (received > 0) {
    // ZeroMQ's thread, where it shares this core, brings more meanwhile: a sleep and a wake for
    // each message would cost as much as the message.
    std::this_thread::yield();
    return;
  }
  if (timeout_ms == 0) return;
  Socket* const sockets[] = {&state_->socket};
  if (!state_->poller.Wait(sockets, timeout_ms)) return;
  const std::lock_guard lock(state_->mutex);
  state_->Round(MonotonicNs());
}

// guard: IngestThreads.AWakeBeforeTheWaitIsNotLost: a wake is kept until the next wait (eventfd)
void Ingest::Wake() { state_->wake.Set(); }

void Ingest::MakeModels(int timeout_ms) {
  if (state_->requests.MakeModels(timeout_ms)) Wake();
}

void Ingest::StopMaking() { state_->requests.StopMaking(); }

Status Ingest::AddModel(const std::string& name, const OfferedModel& offered,
                        const StateReader& reader) {
  const std::lock_guard lock(state_->mutex);
  const Result<std::uint32_t> number = state_->models.Add(name, offered);
  if (!number.ok()) return number.status();
  MURMURATE_RETURN_IF_ERROR(state_->session.Load(*number, reader));
  state_->session.CopyPositions(*number, &state_->models[*number].first_positions);
  state_->intake.CountSteps(*number);
  return {};
}

void Ingest::Save(const std::string& model, std::uint64_t batches,
                  const StateWriter& writer) const {
  const std::lock_guard lock(state_->mutex);
  const auto number = state_->models.Find(model);
  if (!number) return;  // it learns from files
  state_->session.Save(*number, state_->models[*number].PositionsOf(batches), writer);
}

void Ingest::Commit(const std::string& model, const StateReader& reader) {
  const auto positions = wire::ServerSession::ReadPositions(reader);
  if (!positions.ok()) return;  // weights only
  {
    const std::lock_guard lock(state_->mutex);
    const auto number = state_->models.Find(model);
    if (!number) return;
    state_->session.Commit(*number, *positions);
    state_->pace.Hurry();
  }
  Wake();
}

void Ingest::StopGranting() {
  const std::lock_guard lock(state_->mutex);
  state_->session.StopGranting();
}

bool Ingest::AtBorder() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->session.any_lockstep()) return true;
  for (std::uint32_t model = 0; model < state_->models.size(); ++model) {
    if (!state_->session.AtBorder(model)) return false;
  }
  return true;
}

bool Ingest::lockstep() const {
  const std::lock_guard lock(state_->mutex);
  return state_->session.any_lockstep();
}

void Ingest::SayGoaway(const wire::Goaway& goaway) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->session.SayGoaway(goaway);
  }
  Wake();
}

void Ingest::SetSettings(wire::Settings settings) {
  {
    const std::lock_guard lock(state_->mail_mutex);
    state_->settings_mail = std::move(settings);
  }
  Wake();
}

std::vector<std::string> Ingest::addresses() const { return state_->addresses; }

Ingest::Report Ingest::CollectReport() const {
  const std::int64_t now_ns = MonotonicNs();
  const std::lock_guard lock(state_->mutex);
  Report report;
  report.actors = state_->session.Actors(now_ns, &report.forgotten_actors);
  report.refused_actors = state_->session.RefusedActors(now_ns);
  report.refusals = state_->session.refusals();
  report.duplicates = state_->session.duplicates();
  report.lost_trajectories = state_->session.lost_trajectories();
  report.messages = state_->messages;
  report.bytes = state_->bytes;
  for (std::uint32_t model = 0; model < state_->models.size(); ++model) {
    std::string waiting = state_->models[model].Waiting(state_->session.live_agents(model), now_ns);
    if (!waiting.empty()) report.waiting.push_back(std::move(waiting));
  }
  for (const auto& actor : report.actors) {
    if (actor.health != wire::ServerSession::ActorReport::Health::kStalled) continue;
    report.waiting.push_back("actor " + actor.name + " is silent for " +
                             SecondsInWords(actor.silent_ns) + "; its share goes to the others");
  }
  return report;
}

}  // namespace murmurate
