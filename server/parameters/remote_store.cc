#include "server/parameters/remote_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/remote_store_state.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr std::int64_t kWaitsAfterNs = 2'000'000'000;
constexpr int kAliveEveryMs = 500;

}  // namespace

Status RemoteStore::State::Connect(const std::string& model, const ModelSpec& spec) {
  const int count = static_cast<int>(settings.shards.size());
  for (int i = 0; i < count; ++i) {
    ShardLink::Options options;
    options.join.model = model;
    options.join.spec = spec.ToText();
    options.join.rule = settings.shard.ToText();
    options.join.worker = settings.worker;
    options.join.shard = static_cast<std::uint32_t>(i);
    options.join.shards = static_cast<std::uint32_t>(count);
    options.sender = sender;
    options.address = settings.shards[static_cast<std::size_t>(i)];
    options.range = RangeOf(trained, i, count);
    options.statistics = i == 0 ? layout.statistics.count : 0;
    options.retain_bytes = rule.form == PushForm::kElastic ? 0 : settings.retain_bytes;
    options.log = callbacks.log;
    const std::size_t floats = options.range.count + options.statistics;
    if (const std::size_t bytes = floats * sizeof(float); bytes >= settings.share_from_bytes)
      options.places = settings.overlap ? 2 : 1;
    auto link = ShardLink::Open(context, options);
    if (!link.ok()) return link.status();
    BlockPool pool(floats, (*link)->segment());
    pieces.push_back({std::move(*link), std::move(pool), nullptr, nullptr});
    auto socket = Socket::Open(context, SocketKind::kDealer);
    if (!socket.ok()) return socket.status();
    MURMURATE_RETURN_IF_ERROR(socket->Connect(options.address));
    alive_sockets.push_back(std::move(*socket));
  }
  return {};
}

void RemoteStore::State::TellAlive() {
  Poller poller(&alive_signal);
  (void)poller.Wait({}, kAliveEveryMs);
  const std::int64_t since_ns = waiting_since_ns.load();
  const bool waiting = since_ns != 0 && MonotonicNs() - since_ns > kWaitsAfterNs;
  const wire::Encoded encoded = wire::Encode(wire::Alive{waiting}, sender, 0);
  for (Socket& socket : alive_sockets) {
    Message ignored;
    while (socket.TryReceive(&ignored)) continue;
    Message message;
    message.frames.emplace_back(std::span<const std::byte>(encoded.header));
    message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
    (void)socket.TrySend(message);
  }
}

void RemoteStore::State::EndWait() {
  const std::int64_t since_ns = waiting_since_ns.exchange(0);
  if (since_ns != 0 && MonotonicNs() - since_ns > kWaitsAfterNs) waited_long = true;
}

RemoteStore::RemoteStore(const RemoteSettings& settings, const std::string& model,
                         const ModelSpec& spec, RemoteCallbacks callbacks)
    : state_(std::make_unique<State>(settings, spec, std::move(callbacks))) {
  State& s = *state_;
  MURMURATE_CHECK(!settings.shards.empty(), "a remote store has shards");
  if (WorkerKeepsPulled(s.rule)) s.pulled = AlignedFloats(s.trained);
  if (settings.overlap && StepsLocally(s.rule) && s.rule.form != PushForm::kElastic)
    s.local_then = AlignedFloats(s.trained);
  if (s.layout.statistics.count > 0) {
    s.own = AlignedFloats(s.layout.total);
    s.seen = AlignedFloats(s.layout.statistics.count);
  }
  if (Status status = s.Connect(model, spec); !status.ok()) {
    s.failed = true;
    if (s.callbacks.failed) s.callbacks.failed(std::move(status));
    return;
  }
  s.alive = std::make_unique<Loop>(
      "mmr-alive", [this] { state_->TellAlive(); }, [this] { state_->alive_signal.Set(); });
}

RemoteStore::~RemoteStore() {
  state_->alive.reset();
  for (Piece& piece : state_->pieces) piece.link->SayBye();
}

bool RemoteStore::BeginBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.failed || s.interrupted != 0) return false;
  s.EndWait();
  // Rounds went on without it: a gradient at what it has now would come too late for each.
  const bool left_out = std::exchange(s.waited_long, false) && IsSynchronous(s.rule.name) &&
                        s.started && !s.under_way && s.in_window == 0;
  if (!s.started || left_out) s.started = s.Start(parameters) || s.started;
  return s.started;
}

double RemoteStore::Step(double learning_rate, std::span<const float> gradient,
                         std::span<float> parameters) {
  State& s = *state_;
  const bool clips = s.settings.max_grad_norm > 0.0 && s.settings.shard.max_grad_norm == 0.0;
  const bool as_it_is = PushesGradient(s.rule) && s.in_window == 0 && !clips && !s.failed;
  const double norm = as_it_is ? s.TakeUp(gradient) : Norm(gradient);
  if (!std::isfinite(norm) || s.failed) return norm;
  const float scale = clips ? ClipFactor(norm, s.settings.max_grad_norm) : 1.0f;
  if (PushesGradient(s.rule) && !as_it_is) {
    for (Piece& piece : s.pieces) {
      if (!piece.window) piece.window = piece.pool.Take();
      const auto part = piece.Of(gradient);
      AddToWindow(part, scale, s.in_window, piece.window->floats().first(part.size()));
    }
  }
  if (StepsLocally(s.rule)) {
    s.optimizer->Step(static_cast<float>(learning_rate), scale, gradient, parameters);
    ++s.sums.local_steps;
    if (s.rule.form == PushForm::kElastic && learning_rate * norm * scale <= s.elastic_norm)
      ++s.sums.wasted;
  }
  ++s.updates;
  s.rate = learning_rate;
  if (++s.in_window >= s.rule.window) s.Exchange(learning_rate, parameters);
  if (StepsLocally(s.rule)) s.optimizer->LookAhead(parameters);
  return norm;
}

std::span<float> RemoteStore::ObservationsSeen(std::span<float> parameters) {
  return state_->own.size() > 0 ? std::span<float>(state_->own) : parameters;
}

void RemoteStore::EndBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.rule.window == kWholeBatch && s.in_window > 0)
    s.Exchange(s.rate, parameters.first(s.trained));
  if (s.seen.size() > 0 && s.step > 0)
    std::copy(s.seen.begin(), s.seen.end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(s.layout.statistics.offset));
  s.waiting_since_ns = MonotonicNs();
}

void RemoteStore::Refresh(std::span<float> /*parameters*/) { state_->EndWait(); }

void RemoteStore::EndScoring() {
  if (state_->started) state_->waiting_since_ns = MonotonicNs();
}

void RemoteStore::Save(const StateWriter& writer) const {
  if (StepsLocally(state_->rule)) state_->optimizer->Save(writer);
  if (state_->own.size() > 0)
    writer.Floats("seen", std::span(state_->own.data() + state_->layout.statistics.offset,
                                    state_->layout.statistics.count));
}

Status RemoteStore::Load(const StateReader& reader) {
  if (StepsLocally(state_->rule)) MURMURATE_RETURN_IF_ERROR(state_->optimizer->Load(reader));
  state_->loaded = true;
  return {};  // what was seen before counts at the shard already, under another sender
}

std::uint64_t RemoteStore::updates() const { return state_->updates; }

ExchangeReport RemoteStore::TakeReport() {
  const Sums sums = std::exchange(state_->sums, {});
  const auto mean = [](double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0.0;
  };
  return {.exchanges = sums.exchanges,
          .late = sums.late,
          .staleness_mean = mean(sums.staleness, sums.answers),
          .staleness_max = sums.staleness_max,
          .distance_mean = mean(sums.distance, sums.answers),
          .wait_s = sums.wait_s,
          .wasted_share = mean(static_cast<double>(sums.wasted), sums.local_steps)};
}

void RemoteStore::Interrupt() {
  state_->interrupted = 1;
  WakeAll(&state_->interrupted);
  state_->signal.Set();
}

}  // namespace murmurate
