#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/observation_sum.h"
#include "server/parameters/remote_store_state.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSaySilenceNs = 1'000'000'000;
constexpr std::int64_t kLookNs = 200'000;
constexpr int kLooksBetweenYields = 200;
constexpr int kRestMs = 20;
constexpr std::size_t kPieceFloats = 2048;
constexpr std::size_t kLargeFloats = std::size_t{4}
                                     << 20;  ///< leave the cache before they are read

}  // namespace

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
    if (std::exchange(said_silent, true)) return;
    const std::string which =
        "learning waits for shard " + std::to_string(i) + " (" + link.options().address + "), ";
    const ShardWait wait{
        which + (link.heard() ? "which does not answer, or for the workers that it waits for"
                              : "which has never answered; start it with `murmurate params CONFIG "
                                "--shard " +
                                    std::to_string(i) + "`"),
        !link.heard()};
    if (callbacks.log) callbacks.log(LogLevel::kWarning, wait.sentence);
    if (callbacks.waits) callbacks.waits(wait);
    return;
  }
}

/// True: every shard has answered.
bool RemoteStore::State::PollLinks(std::span<const float> parameters) {
  const std::int64_t now_ns = MonotonicNs();
  bool all = true;
  for (Piece& piece : pieces) {
    if (piece.link->answered()) continue;
    piece.link->Poll(now_ns);
    if (Failed(piece)) return false;
    if (piece.link->wants_parameters()) piece.link->Replenish(Filled(piece, parameters), now_ns);
    all = all && piece.link->answered();
  }
  return all;
}

/// To sleep and be woken takes longer than the exchange of a megabyte. Whoever else could use this
/// core gets it between looks.
void RemoteStore::State::Look(std::int64_t begin_ns) const {
  const auto waits = [](const Piece& piece) { return piece.link->WaitForAnswer().has_value(); };
  if (!std::all_of(pieces.begin(), pieces.end(), waits)) return;
  const auto is_there = [](const Piece& piece) { return piece.link->IsAnsweredInSegment(); };
  while (MonotonicNs() - begin_ns < kLookNs) {
    for (int look = 0; look < kLooksBetweenYields; ++look)
      if (std::all_of(pieces.begin(), pieces.end(), is_there)) return;
    std::this_thread::yield();
  }
}

void RemoteStore::State::Rest() {
  std::vector<FutexWait> waits = {{&interrupted, 0}};
  std::vector<Socket*> sockets;
  for (Piece& piece : pieces) {
    if (piece.link->answered()) continue;
    sockets.push_back(piece.link->socket());
    if (const auto wait = piece.link->WaitForAnswer()) waits.push_back(*wait);
  }
  if (waits.size() == sockets.size() + 1)
    return WaitForAny(waits, kRestMs);  // what comes in messages, an error perhaps, is not urgent
  Poller poller(&signal);
  (void)poller.Wait(sockets, kRestMs);
}

/// Until every shard has answered; false: interrupted or refused.
bool RemoteStore::State::Await(std::span<const float> parameters) {
  const std::int64_t begin_ns = MonotonicNs();
  if (looks_help) Look(begin_ns);
  while (!PollLinks(parameters)) {
    if (failed || interrupted != 0) return false;
    SaySilence(MonotonicNs());
    Rest();
  }
  if (std::exchange(said_silent, false)) {
    if (callbacks.log) callbacks.log(LogLevel::kInfo, "the shards answer");
    if (callbacks.waits) callbacks.waits(std::nullopt);
  }
  const std::int64_t wait_ns = MonotonicNs() - begin_ns;
  looks_help = wait_ns < kLookNs;
  sums.wait_s += static_cast<double>(wait_ns) * 1e-9;
  return true;
}

/// In pieces that the nearest cache keeps, so the norm costs no pass of its own.
double RemoteStore::State::TakeUp(std::span<const float> gradient) {
  double squares = 0.0;
  for (Piece& piece : pieces) {
    if (!piece.window) piece.window = piece.pool.Take();
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
    for (Piece& piece : pieces) piece.link->Request({}, Filled(piece, local), MonotonicNs());
    under_way = true;
  }
  if (!Await(local)) return false;
  under_way = false;
  if (!started && own.size() > 0 && !pieces.front().link->began())  // whoever began brought them
    SumObservations(layout, {}, std::span(own).subspan(layout.statistics.offset));
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
  for (Piece& piece : pieces) piece.link->Keep();
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

}  // namespace murmurate
