#include "server/parameters/remote_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/observation_sum.h"
#include "server/parameters/remote_store_state.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kPieceFloats = 2048;
/// Blocks that are larger leave the cache before they are read.
constexpr std::size_t kLargeFloats = std::size_t{4} << 20;

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
    options.statistics = i == 0 ? settings.shard.StatisticsOf(layout) : 0;
    options.retain_bytes = rule.form == PushForm::kElastic ? 0 : settings.retain_bytes;
    options.log = callbacks.log;
    const std::size_t floats = options.range.count + options.statistics;
    if (const std::size_t bytes = floats * sizeof(float); bytes >= settings.share_from_bytes)
      options.slots = settings.overlap ? 2 : 1;
    auto link = ShardLink::Open(context, options);
    if (!link.ok()) return link.status();
    BlockPool pool(floats, (*link)->channel().segment());
    pieces.push_back({std::move(*link), std::move(pool), nullptr, nullptr});
    MURMURATE_RETURN_IF_ERROR(heartbeat.AddShard(context, options.address));
  }
  return {};
}

void RemoteStore::State::PutStatistics(Block* block, const ShardPiece& piece) const {
  if (piece.link->options().statistics == 0) return;
  const auto to = block->floats().subspan(piece.range().count, piece.link->options().statistics);
  const std::size_t count = layout.statistics.count;
  if (count > 0) std::copy_n(own.begin() + layout.statistics.offset, count, to.begin());
  if (to.size() > count) WriteMoments(own_returns, to.subspan(count));
}

void RemoteStore::State::TakeStatistics(const ShardPiece& piece) {
  if (piece.link->options().statistics == 0) return;
  const auto from =
      piece.link->block().subspan(piece.range().count, piece.link->options().statistics);
  const std::size_t count = layout.statistics.count;
  std::copy_n(from.begin(), count, seen.begin());
  if (from.size() > count) all_returns = ReadMoments(from.subspan(count));
}

std::shared_ptr<Block> RemoteStore::State::Filled(ShardPiece& piece,
                                                  std::span<const float> parameters) {
  auto block = piece.pool.Acquire();
  const auto part = piece.Of(parameters);
  std::copy(part.begin(), part.end(), block->floats().begin());
  PutStatistics(block.get(), piece);
  return block;
}

bool RemoteStore::State::Answered(std::span<const float> parameters) {
  return wait.Wait(pieces, [&](ShardPiece& piece) { return Filled(piece, parameters); });
}

/// Copies in pieces that the nearest cache keeps, so the norm costs no pass of its own.
double RemoteStore::State::CopyGradient(std::span<const float> gradient) {
  double squares = 0.0;
  for (ShardPiece& piece : pieces) {
    if (!piece.window) piece.window = piece.pool.Acquire();
    const auto part = piece.Of(gradient);
    const auto kind = part.size() > kLargeFloats ? CopyKind::kPastCache : CopyKind::kOrdinary;
    float* const to = piece.window->floats().data();
    for (std::size_t at = 0; at < part.size(); at += kPieceFloats) {
      const auto values = part.subspan(at, std::min(kPieceFloats, part.size() - at));
      squares += SumOfSquares(values);
      if (kind == CopyKind::kPastCache)
        (void)CopyFinite(to + at, values, kind);
      else
        std::copy(values.begin(), values.end(), to + at);
    }
  }
  return static_cast<float>(std::sqrt(squares));
}

bool RemoteStore::State::Start(std::span<float> parameters) {
  const auto local = parameters.first(trained);
  if (!started && !loaded && own.size() > 0)  // initialize_from may have brought some
    std::copy_n(parameters.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset),
                layout.statistics.count,
                own.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset));
  if (!under_way) {
    for (ShardPiece& piece : pieces) piece.link->Request({}, Filled(piece, local), MonotonicNs());
    under_way = true;
  }
  if (!Answered(local)) return false;
  under_way = false;
  if (!started && own.size() > 0 &&
      !pieces.front().link->began())  // the worker that began brought them
    SumObservations(layout, {}, std::span(own).subspan(layout.statistics.offset));
  for (ShardPiece& piece : pieces) {
    const auto center = piece.link->block().first(piece.range().count);
    if (!started || rule.form != PushForm::kElastic)
      std::copy(center.begin(), center.end(), piece.Of(local).begin());
    piece.version = piece.link->center().version;
    TakeStatistics(piece);
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
  for (const ShardPiece& piece : pieces) taken_at.push_back(piece.version);
  if (under_way && !Finish(parameters)) return;
  const double pushed_rate =
      settings.server_rate > 0.0 ? settings.server_rate * settings.rate_factor : learning_rate;
  ++step;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    ShardPiece& piece = pieces[i];
    auto block = PushesGradient(rule) ? std::move(piece.window) : piece.pool.Acquire();
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
  for (ShardPiece& piece : pieces) piece.link->Keep();
  in_window = 0;
  under_way = true;
  if (!settings.overlap)
    (void)Finish(parameters);
  else if (local_then.size() > 0)
    std::copy(parameters.begin(), parameters.end(), local_then.begin());
}

void RemoteStore::State::ApplyAnswer(ShardPiece& piece, std::span<float> parameters) {
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
  piece.pushed = nullptr;  // its slot is free, unless the link keeps it
  piece.version = center.version;
  ++sums.answers;
  sums.late += center.merged ? 0 : 1;
  sums.staleness += static_cast<double>(center.staleness);
  sums.staleness_max = std::max(sums.staleness_max, static_cast<double>(center.staleness));
  sums.distance += center.distance;
  TakeStatistics(piece);
}

bool RemoteStore::State::Finish(std::span<float> parameters) {
  if (!Answered(parameters)) return false;
  under_way = false;
  elastic_norm = 0.0;
  for (ShardPiece& piece : pieces) ApplyAnswer(piece, parameters);
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
    s.wait.Fail(status);
    return;
  }
  s.heartbeat.Start();
}

RemoteStore::~RemoteStore() {
  state_->heartbeat.Stop();
  for (ShardPiece& piece : state_->pieces) piece.link->SayBye();
}

bool RemoteStore::BeginBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.wait.failed() || s.wait.interrupted()) return false;
  s.heartbeat.EndWait();
  // Rounds went on without it: a gradient at what it has now would come too late for each.
  const bool left_out = s.heartbeat.PopLongWait() && IsSynchronous(s.rule.name) && s.started &&
                        !s.under_way && s.in_window == 0;
  if (!s.started || left_out) s.started = s.Start(parameters) || s.started;
  return s.started;
}

double RemoteStore::Step(double base_rate, std::span<const float> gradient,
                         std::span<float> parameters) {
  State& s = *state_;
  const double learning_rate = base_rate * s.settings.rate_factor;
  const bool clips = s.settings.max_grad_norm > 0.0 && s.settings.shard.max_grad_norm == 0.0;
  const bool as_it_is = PushesGradient(s.rule) && s.in_window == 0 && !clips && !s.wait.failed();
  const double norm = as_it_is ? s.CopyGradient(gradient) : Norm(gradient);
  if (!std::isfinite(norm) || s.wait.failed()) return norm;
  const float scale = clips ? ClipFactor(norm, s.settings.max_grad_norm) : 1.0f;
  if (PushesGradient(s.rule) && !as_it_is) {
    for (ShardPiece& piece : s.pieces) {
      if (!piece.window) piece.window = piece.pool.Acquire();
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

void RemoteStore::ShareReturns(const Moments& own) { state_->own_returns = own; }

std::optional<Moments> RemoteStore::PopReturns() {
  return std::exchange(state_->all_returns, std::nullopt);
}

void RemoteStore::EndBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.rule.window == kWholeBatch && s.in_window > 0)
    s.Exchange(s.rate, parameters.first(s.trained));
  if (s.seen.size() > 0 && s.step > 0)
    std::copy(s.seen.begin(), s.seen.end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(s.layout.statistics.offset));
  s.heartbeat.BeginWait();
}

void RemoteStore::Refresh(std::span<float> /*parameters*/) { state_->heartbeat.EndWait(); }

void RemoteStore::EndScoring() {
  if (state_->started) state_->heartbeat.BeginWait();
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

ExchangeReport RemoteStore::CollectReport() {
  const Sums sums = std::exchange(state_->sums, {});
  const auto mean = [](double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0.0;
  };
  return {.exchanges = sums.exchanges,
          .late = sums.late,
          .staleness_mean = mean(sums.staleness, sums.answers),
          .staleness_max = sums.staleness_max,
          .distance_mean = mean(sums.distance, sums.answers),
          .wait_s = state_->wait.PopSeconds(),
          .wasted_share = mean(static_cast<double>(sums.wasted), sums.local_steps),
          .rate_factor = state_->settings.rate_factor};
}

void RemoteStore::Interrupt() { state_->wait.Interrupt(); }

}  // namespace murmurate
