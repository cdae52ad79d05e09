#include "server/parameters/remote_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <utility>

#include "server/parameters/block_pool.h"
#include "server/parameters/shard_link.h"
#include "server/parameters/update_rule.h"
#include "shared/compute/vector_math.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSaySilenceNs = 1'000'000'000;
constexpr std::int64_t kWaitsAfterNs = 2'000'000'000;
constexpr int kAliveEveryMs = 500;

/// Of one shard.
struct Piece {
  std::unique_ptr<ShardLink> link;
  BlockPool pool;
  std::shared_ptr<Block> window;        ///< gradient form: where they are summed
  std::shared_ptr<const Block> pushed;  ///< under way
  std::uint64_t version = 0;

  const PartRange& range() const { return link->options().range; }
  template <typename T>
  std::span<T> Of(std::span<T> trained) const {
    return trained.subspan(range().begin, range().count);
  }
};

struct Sums {
  std::uint64_t exchanges = 0, late = 0, answers = 0, local_steps = 0, wasted = 0;
  double staleness = 0.0, staleness_max = 0.0, distance = 0.0, wait_s = 0.0;
};

}  // namespace

struct RemoteStore::State {
  State(const RemoteSettings& given, const ModelSpec& spec, RemoteCallbacks given_callbacks)
      : settings(given),
        rule(given.shard.rule),
        layout(spec),
        callbacks(std::move(given_callbacks)),
        trained(layout.trained_count()),
        optimizer(MakeOptimizer(given.optimizer, StepsLocally(rule) ? trained : 0)) {}

  Status Connect(const std::string& model, const ModelSpec& spec);
  bool Start(std::span<float> parameters);
  void Exchange(double learning_rate, std::span<float> parameters);
  bool Finish(std::span<float> parameters);
  void Take(Piece& piece, std::span<float> parameters);
  bool Await(std::span<const float> parameters);
  bool Failed(const Piece& piece);
  void SaySilence(std::int64_t now_ns);
  std::shared_ptr<Block> Filled(Piece& piece, std::span<const float> parameters);
  void PutStatistics(Block* block, const Piece& piece) const;
  void TellAlive();

  const RemoteSettings settings;
  const RuleSettings rule;
  const ParameterLayout layout;
  const RemoteCallbacks callbacks;
  const std::size_t trained;
  const std::uint64_t sender = RandomIdentity();
  std::unique_ptr<Optimizer> optimizer;
  SocketContext context;
  WakeSignal signal, alive_signal;
  std::vector<Piece> pieces;
  AlignedFloats pulled;      ///< where WorkerKeepsPulled
  AlignedFloats local_then;  ///< overlap: x_i when it pushed
  AlignedFloats own;         ///< the whole block, of which the statistics count
  AlignedFloats seen;        ///< by all, as shard 0 said last
  bool started = false, loaded = false, under_way = false, failed = false, said_silent = false;
  int in_window = 0;
  double rate = 0.0;
  std::uint64_t step = 0, updates = 0;
  double elastic_norm = 0.0;
  Sums sums;
  std::atomic<bool> interrupted{false};
  std::atomic<std::int64_t> waiting_since_ns{0};  ///< for experience; 0: it learns
  std::vector<Socket> alive_sockets;
  std::unique_ptr<Loop> alive;  ///< last: its thread uses the sockets above
};

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
      options.places =
          (settings.overlap ? 2 : 1) + options.retain_bytes / std::max<std::size_t>(bytes, 1);
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

void RemoteStore::State::PutStatistics(Block* block, const Piece& piece) const {
  const std::size_t count = piece.link->options().statistics;
  if (count > 0)
    std::copy_n(own.begin() + layout.statistics.offset, count,
                block->floats().subspan(piece.range().count).begin());
}

std::shared_ptr<Block> RemoteStore::State::Filled(Piece& piece, std::span<const float> parameters) {
  auto block = piece.pool.Take();
  const auto part = piece.Of(parameters);
  std::copy(part.begin(), part.end(), block->floats().begin());
  PutStatistics(block.get(), piece);
  return block;
}

bool RemoteStore::State::Failed(const Piece& piece) {
  if (piece.link->refusal().ok()) return false;
  if (!failed && callbacks.failed) callbacks.failed(piece.link->refusal());
  failed = true;
  return true;
}

void RemoteStore::State::SaySilence(std::int64_t now_ns) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ShardLink& link = *pieces[i].link;
    if (link.answered() || now_ns - link.silent_since_ns() < kSaySilenceNs) continue;
    if (!said_silent && callbacks.log)
      callbacks.log(LogLevel::kWarning, "learning waits for shard " + std::to_string(i) + " (" +
                                            link.options().address +
                                            "), which does not answer, or for the workers that it "
                                            "waits for");
    said_silent = true;
    return;
  }
}

/// Until every shard has answered; false: interrupted or refused.
bool RemoteStore::State::Await(std::span<const float> parameters) {
  std::vector<Socket*> sockets;
  for (Piece& piece : pieces) sockets.push_back(piece.link->socket());
  Poller poller(&signal);
  const std::int64_t begin_ns = MonotonicNs();
  while (true) {
    const std::int64_t now_ns = MonotonicNs();
    bool all = true;
    for (Piece& piece : pieces) {
      if (piece.link->answered()) continue;
      piece.link->Poll(now_ns);
      if (Failed(piece)) return false;
      if (piece.link->wants_parameters()) piece.link->Replenish(Filled(piece, parameters), now_ns);
      all = all && piece.link->answered();
    }
    if (all) break;
    if (interrupted) return false;
    SaySilence(now_ns);
    (void)poller.Wait(sockets, 20);
  }
  if (std::exchange(said_silent, false) && callbacks.log)
    callbacks.log(LogLevel::kInfo, "the shards answer again");
  sums.wait_s += static_cast<double>(MonotonicNs() - begin_ns) * 1e-9;
  return true;
}

bool RemoteStore::State::Start(std::span<float> parameters) {
  const auto local = parameters.first(trained);
  if (!started && !loaded && own.size() > 0)  // initialize_from may have brought some
    std::copy_n(parameters.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset),
                layout.statistics.count,
                own.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset));
  if (!under_way) {
    for (Piece& piece : pieces) piece.link->Request({}, Filled(piece, local), MonotonicNs());
    under_way = true;
  }
  if (!Await(local)) return false;
  under_way = false;
  for (Piece& piece : pieces) {
    const auto center = piece.link->block().first(piece.range().count);
    if (!started || rule.form != PushForm::kElastic)
      std::copy(center.begin(), center.end(), piece.Of(local).begin());
    piece.version = piece.link->center().version;
    if (piece.link->options().statistics > 0)
      std::copy(piece.link->block().begin() + static_cast<std::ptrdiff_t>(piece.range().count),
                piece.link->block().end(), seen.begin());
    if (WorkerKeepsPulled(rule))
      std::copy(center.begin(), center.end(), piece.Of(std::span<float>(pulled)).begin());
  }
  return true;
}

void RemoteStore::State::Exchange(double learning_rate, std::span<float> parameters) {
  // Overlapped gradients were taken before the answer that comes in now; a round's stamp is its
  // own.
  const bool earlier = PushesGradient(rule) && !IsSynchronous(rule.name);
  std::vector<std::uint64_t> taken_at;
  for (const Piece& piece : pieces) taken_at.push_back(piece.version);
  if (under_way && !Finish(parameters)) return;
  const double pushed_rate = settings.server_rate > 0.0 ? settings.server_rate : learning_rate;
  ++step;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    auto block = PushesGradient(rule) ? std::move(piece.window) : piece.pool.Take();
    const auto out = block->floats().first(piece.range().count);
    Contribution(rule,
                 {.local = piece.Of(std::span<const float>(parameters)),
                  .pulled = WorkerKeepsPulled(rule) ? piece.Of(std::span<const float>(pulled))
                                                    : std::span<const float>(),
                  .accumulated = out,
                  .steps = in_window},
                 out);
    PutStatistics(block.get(), piece);
    piece.window = nullptr;
    piece.pushed = block;
    piece.link->Request({step, earlier ? taken_at[i] : piece.version, pushed_rate},
                        std::move(block), MonotonicNs());
  }
  in_window = 0;
  under_way = true;
  if (!settings.overlap)
    (void)Finish(parameters);
  else if (local_then.size() > 0)
    std::copy(parameters.begin(), parameters.end(), local_then.begin());
}

void RemoteStore::State::Take(Piece& piece, std::span<float> parameters) {
  const wire::Center& center = piece.link->center();
  const auto answer = piece.link->block().first(piece.range().count);
  const auto local = piece.Of(parameters);
  if (local_then.size() > 0) {  // x_i <- x~ + what it stepped since it pushed
    const auto then = piece.Of(std::span<const float>(local_then));
    for (std::size_t i = 0; i < local.size(); ++i) local[i] = answer[i] + (local[i] - then[i]);
  } else if (rule.name != RuleName::kEasgd || center.merged) {
    Adopt(rule, answer, piece.pushed->floats().first(local.size()), local);
  }
  if (WorkerKeepsPulled(rule))
    std::copy(answer.begin(), answer.end(), piece.Of(std::span<float>(pulled)).begin());
  if (rule.form == PushForm::kElastic) {
    const double norm =
        Norm(rule.name == RuleName::kEasgd ? piece.pushed->floats().first(local.size()) : answer);
    elastic_norm += norm * norm;
  }
  piece.pushed = nullptr;  // its place is free, unless the link keeps it
  piece.version = center.version;
  ++sums.answers;
  sums.late += center.merged ? 0 : 1;
  sums.staleness += static_cast<double>(center.staleness);
  sums.staleness_max = std::max(sums.staleness_max, static_cast<double>(center.staleness));
  sums.distance += center.distance;
  if (piece.link->options().statistics > 0)
    std::copy(piece.link->block().begin() + static_cast<std::ptrdiff_t>(piece.range().count),
              piece.link->block().end(), seen.begin());
}

bool RemoteStore::State::Finish(std::span<float> parameters) {
  if (!Await(parameters)) return false;
  under_way = false;
  elastic_norm = 0.0;
  for (Piece& piece : pieces) Take(piece, parameters);
  elastic_norm = std::sqrt(elastic_norm);
  ++sums.exchanges;
  return true;
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
  if (s.failed || s.interrupted) return false;
  const std::int64_t since_ns = s.waiting_since_ns.exchange(0);
  // Rounds went on without it: a gradient at what it has now would come too late for each.
  const bool left_out = IsSynchronous(s.rule.name) && s.started && !s.under_way &&
                        s.in_window == 0 && since_ns != 0 &&
                        MonotonicNs() - since_ns > kWaitsAfterNs;
  if (!s.started || left_out) s.started = s.Start(parameters) || s.started;
  return s.started;
}

double RemoteStore::Step(double learning_rate, std::span<const float> gradient,
                         std::span<float> parameters) {
  State& s = *state_;
  const double norm = Norm(gradient);
  if (!std::isfinite(norm) || s.failed) return norm;
  const bool clips = s.settings.max_grad_norm > 0.0 && s.settings.shard.max_grad_norm == 0.0;
  const float scale = clips ? ClipFactor(norm, s.settings.max_grad_norm) : 1.0f;
  if (PushesGradient(s.rule)) {
    for (Piece& piece : s.pieces) {
      if (!piece.window) piece.window = piece.pool.Take();
      const auto part = piece.Of(gradient);
      if (s.in_window == 0 && scale == 1.0f)
        std::copy(part.begin(), part.end(), piece.window->floats().begin());
      else
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
  state_->interrupted = true;
  state_->signal.Set();
}

}  // namespace murmurate
