#include "server/ingest/ingest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "server/ingest/examine.h"
#include "server/ingest/ingest_state.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {
namespace {

constexpr int kMessagesARound = 256;
constexpr std::size_t kBytesARound = 8u << 20;
/// How long an ACCEPTED that only gives bytes back may wait for company: nobody is short of bytes
/// in that time, and each costs both sides several system calls.
constexpr std::int64_t kOweNs = kNanosecondsPerMillisecond;
constexpr int kTickMs = 20;
constexpr std::int64_t kTickNs = kTickMs * kNanosecondsPerMillisecond;
/// After the last message, and while any sender is there, rounds go on without one.
constexpr std::int64_t kRestNs = 2 * kNanosecondsPerSecond;

}  // namespace

void Ingest::State::TakeReturned(std::int64_t now_ns) {
  for (std::uint32_t model = 0; model < assemblies.size(); ++model) {
    Assembly& assembly = *assemblies[model];
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
    if (done != assembly.done_seen || version != assembly.version_seen) urgent = true;
    assembly.channel().staleness.Collect(&ages);
    for (const StalenessMail::Age& age : ages) session.CountStaleness(age.sender, age.versions);
    assembly.done_seen = done;
    assembly.version_seen = version;
    SettleWaiting(model, now_ns);
  }
}

/// After TakeReturned: what was set before a version is sent before the credit that names it.
void Ingest::State::TakeSettings() {
  const std::lock_guard lock(mail_mutex);
  if (!settings_mail) return;
  session.SetSettings(*std::exchange(settings_mail, std::nullopt));
  urgent = true;
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
    urgent = true;
    return;
  }
  auto& good = std::get<wire::Decoded>(decoded);
  if (std::holds_alternative<wire::Experience>(good.body)) {
    OnExperience(std::move(message), std::move(good), now_ns);
    return;
  }
  urgent = true;
  if (const auto* hello = std::get_if<wire::Hello>(&good.body)) {
    chronicle.Name(message.peer, hello->actor_name, now_ns);
  }
  Converse(std::move(message.peer), std::move(good), now_ns);
}

void Ingest::State::OnExperience(Message message, wire::Decoded decoded, std::int64_t now_ns) {
  const wire::ServerSession::Verdict verdict = session.OnExperience(message.peer, decoded, now_ns);
  if (!verdict.accept) {
    urgent = true;
    return;
  }
  Assembly& assembly = *assemblies[verdict.model];
  TrajectoryView view;
  BlockRefusal refused = Examine(decoded, Aligned(decoded.block, &scratch), options.incarnation,
                                 assembly.channel(), &view);
  if (refused.refusal == wire::Refusal::kNone)
    refused = assembly.MayTake(view, IsOfThisLife(decoded, options.incarnation));
  auto outcome = Assembly::Outcome::kNoRoom;
  view.agent = verdict.agent_index;
  view.sender = decoded.header.sender;
  if (refused.refusal == wire::Refusal::kNone) {
    if (assembly.waiting() == 0) outcome = assembly.TryAdd(view, now_ns);
    if (outcome == Assembly::Outcome::kNoRoom || outcome == Assembly::Outcome::kBadObservation) {
      refused = ExamineObservations(view, assembly.channel());
    }
  }
  if (refused.refusal != wire::Refusal::kNone) {
    if (refused.refusal == wire::Refusal::kStale) {
      assembly.channel().refused_late_steps.fetch_add(static_cast<std::uint64_t>(view.steps),
                                                      std::memory_order_relaxed);
    }
    session.Acknowledge(message.peer, decoded, refused.refusal, std::move(refused.sentence),
                        now_ns);
    urgent = true;
    return;
  }
  PassOn(verdict.model, std::get<wire::Experience>(decoded.body).reports, view);
  if (outcome != Assembly::Outcome::kNoRoom) {
    Settled(verdict.model, message.peer, decoded, outcome, now_ns);
    if (assembly.full()) HandOver(verdict.model, now_ns);
    return;
  }
  auto block = std::make_unique<WaitingBlock>();
  block->message = std::move(message);
  block->decoded = std::move(decoded);
  block->decoded.block = block->message.frames.back().bytes();
  (void)Examine(block->decoded, Aligned(block->decoded.block, &block->aligned), options.incarnation,
                assembly.channel(), &block->view);
  block->view.agent = verdict.agent_index;
  block->view.sender = view.sender;
  assembly.Keep(std::move(block), now_ns);
}

void Ingest::State::PassOn(std::uint32_t model, std::span<const wire::ReportedNumber> reports,
                           const TrajectoryView& view) const {
  const bool evaluated = std::ranges::any_of(view.episodes, WasEvaluated);
  if (reports.empty() && !evaluated) return;
  const std::string& name = assemblies[model]->name();
  if (!reports.empty() && options.on_reports)
    options.on_reports(name, reports, IsOfEvaluation(view));
  if (evaluated && options.on_evaluated) options.on_evaluated(name, view.episodes);
}

void Ingest::State::Settled(std::uint32_t model, const std::string& peer,
                            const wire::Decoded& decoded, Assembly::Outcome outcome,
                            std::int64_t now_ns) {
  if (outcome == Assembly::Outcome::kAdded) {
    session.Acknowledge(peer, decoded, wire::Refusal::kNone, "", now_ns);
    if (owed_since_ns == 0) owed_since_ns = now_ns;
    return;
  }
  urgent = true;
  session.Acknowledge(peer, decoded, wire::Refusal::kBusy,
                      "model " + assemblies[model]->name() +
                          ": more finished episodes than a batch may report; send them with steps",
                      now_ns);
}

void Ingest::State::SettleWaiting(std::uint32_t model, std::int64_t now_ns) {
  Assembly& assembly = *assemblies[model];
  while (assembly.waiting() > 0) {
    assembly.Settle(now_ns, [&](WaitingBlock& block, Assembly::Outcome outcome) {
      Settled(model, block.message.peer, block.decoded, outcome, now_ns);
    });
    if (!assembly.full()) return;
    HandOver(model, now_ns);
  }
}

void Ingest::State::CountSteps(std::uint32_t model) {
  ExperienceChannel& channel = assemblies[model]->channel();
  channel.environment_steps.store(session.EnvironmentSteps(model), std::memory_order_relaxed);
  channel.dropped_steps.store(session.DroppedSteps(model), std::memory_order_relaxed);
  const wire::ServerSession::Waits waits = session.ActorWaits(model);
  channel.actors_waited_ns.store(waits.waited_ns, std::memory_order_relaxed);
  channel.actors_played_ns.store(waits.played_ns, std::memory_order_relaxed);
}

void Ingest::State::CloseAtQuorum(std::uint32_t model, std::int64_t now_ns) {
  Assembly& assembly = *assemblies[model];
  if (!assembly.quorum(session.finished_agents(model), session.live_agents(model), now_ns)) return;
  session.CloseBatch(model);
  HandOver(model, now_ns);
}

void Ingest::State::HandOver(std::uint32_t model, std::int64_t now_ns) {
  // guard: IngestThreads.ABatchIsNeverAheadOfTheCountOfItsSteps: the counts of steps are stored
  //   before the batch is handed over
  CountSteps(model);  // before the batch, which is reported with them
  session.CopyPositions(model, assemblies[model]->next_positions());
  assemblies[model]->HandOver(session.any_lockstep(), now_ns);
}

void Ingest::State::Answer(std::int64_t now_ns) {
  urgent = false;
  owed_since_ns = 0;
  std::vector<wire::ServerSession::Reply> replies = session.PopReplies();
  for (const auto& reply : replies) chronicle.NoteReply(reply, now_ns);
  const Outbox::Unreached unreached = outbox.Send(std::move(replies));
  for (const std::string& peer : unreached.gone) session.OnUnreachable(peer, now_ns);
  for (const std::string& peer : unreached.stuck) session.OnStuck(peer, now_ns);
}

bool Ingest::State::AnswerDue(std::int64_t now_ns) const {
  return urgent || outbox.pending() > 0 || (owed_since_ns != 0 && now_ns - owed_since_ns >= kOweNs);
}

/// How many messages there were.
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
  TakeReturned(now_ns);
  TakeSettings();
  TakeMade(now_ns);
  const int count = Receive(now_ns);
  if (count > 0) rests_at_ns = now_ns + kRestNs;
  const bool lockstep = session.any_lockstep();
  for (std::uint32_t model = 0; model < assemblies.size(); ++model) {
    if (count > 0) CountSteps(model);
    if (!lockstep && assemblies[model]->model().current_only) {
      CloseAtQuorum(model, now_ns);
      continue;
    }
    if (lockstep || !assemblies[model]->old(session.live_agents(model), now_ns)) continue;
    HandOver(model, now_ns);
    SettleWaiting(model, now_ns);
  }
  if (now_ns >= next_tick_ns) {
    session.OnTick(now_ns);
    if (session.any_here() || outbox.pending() > 0) rests_at_ns = now_ns + kRestNs;
    next_tick_ns = now_ns + kTickNs;
    urgent = true;
  }
  if (AnswerDue(now_ns)) Answer(now_ns);
  if (chronicle.due(now_ns)) Chronicled(now_ns);
  return count;
}

void Ingest::State::Chronicled(std::int64_t now_ns) {
  chronicle.NoteActors(session.Actors(now_ns), now_ns);
  for (std::uint32_t model = 0; model < assemblies.size(); ++model) {
    const Assembly& assembly = *assemblies[model];
    chronicle.NoteWaiting(assembly.name(), assembly.Waiting(session.live_agents(model), now_ns),
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
  state->session.SetHost(HostIdentity());
  state->session.SetAddresses(family->announce, family->weights);
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
    if (now_ns < state_->rests_at_ns) timeout_ms = std::min(timeout_ms, kTickMs);
    if (state_->owed_since_ns != 0) timeout_ms = std::min(timeout_ms, 1);
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

Ingest::Report Ingest::TakeReport() const {
  const std::int64_t now_ns = MonotonicNs();
  const std::lock_guard lock(state_->mutex);
  Report report;
  report.actors = state_->session.Actors(now_ns);
  report.refused_actors = state_->session.RefusedActors(now_ns);
  report.refusals = state_->session.refusals();
  report.duplicates = state_->session.duplicates();
  report.lost_trajectories = state_->session.lost_trajectories();
  report.messages = state_->messages;
  report.bytes = state_->bytes;
  for (std::uint32_t model = 0; model < state_->assemblies.size(); ++model) {
    std::string waiting =
        state_->assemblies[model]->Waiting(state_->session.live_agents(model), now_ns);
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
