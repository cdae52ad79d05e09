#include "server/parameters/remote_worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/compute/vector_math.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kPieceFloats = 2048;
/// Blocks that are larger leave the cache before they are read.
constexpr std::size_t kLargeFloats = std::size_t{4} << 20;
constexpr std::int64_t kSilentNs = 1'000'000'000;  ///< of a shard that a worker leaves
constexpr int kRestMs = 20;
/// Returns the sum of squares.
double CopyPastCache(std::span<const float> from, std::span<float> to) {
  double squares = 0.0;
  for (std::size_t at = 0; at < from.size(); at += kPieceFloats) {
    const auto values = from.subspan(at, std::min(kPieceFloats, from.size() - at));
    squares += SumOfSquares(values);
    (void)CopyFinite(to.data() + at, values, CopyKind::kPastCache);
  }
  return squares;
}

/// Gives a shard that was started again what it lacks of pushes that were answered, which is lost
/// when their worker leaves.
void FinishSendingAgain(std::span<ShardPiece> pieces) {
  WakeSignal never;
  for (ShardPiece& piece : pieces) {
    ShardLink& link = *piece.link;
    if (!link.heard()) continue;
    const std::int64_t begin_ns = MonotonicNs();
    link.AskWhatItLacks(begin_ns);
    Socket* const sockets[] = {link.channel().socket()};
    while (!link.lacks_nothing() && link.refusal().ok() &&
           MonotonicNs() - std::max(begin_ns, link.silent_since_ns()) < kSilentNs) {
      (void)Poller(&never).Wait(sockets, kRestMs);
      link.Poll(MonotonicNs());
    }
  }
}

}  // namespace

RemoteWorker::RemoteWorker(const RemoteSettings& settings, const std::string& model,
                           const ModelSpec& spec, RemoteCallbacks callbacks)
    : settings_(settings),
      rule_(settings.shard.rule),
      callbacks_(std::move(callbacks)),
      trained_(ParameterLayout(spec).trained_count()),
      statistics_(ParameterLayout(spec)),
      wait_(callbacks_),
      heartbeat_(sender_) {
  MURMURATE_CHECK(!settings.shards.empty(), "a worker has shards");
  if (WorkerKeepsPulled(rule_)) pulled_ = AlignedFloats(trained_);
  if (settings.overlap && StepsLocally(rule_) && rule_.form != PushForm::kElastic)
    local_then_ = AlignedFloats(trained_);
  if (Status status = Connect(model, spec); !status.ok())
    wait_.Fail(status);
  else
    heartbeat_.Start();
}

RemoteWorker::~RemoteWorker() {
  FinishSendingAgain(pieces_);
  heartbeat_.Stop();
  for (ShardPiece& piece : pieces_) piece.link->SayBye();
}

Status RemoteWorker::Connect(const std::string& model, const ModelSpec& spec) {
  const ParameterLayout layout(spec);
  const int count = static_cast<int>(settings_.shards.size());
  for (int i = 0; i < count; ++i) {
    ShardLink::Options options;
    options.join.model = model;
    options.join.spec = spec.ToText();
    options.join.rule =
        settings_.rule_text.empty() ? settings_.shard.ToText() : settings_.rule_text;
    options.join.worker = settings_.worker;
    options.join.shard = static_cast<std::uint32_t>(i);
    options.join.shards = static_cast<std::uint32_t>(count);
    options.sender = sender_;
    options.address = settings_.shards[static_cast<std::size_t>(i)];
    options.range = RangeOf(trained_, i, count);
    options.statistics = i == 0 ? settings_.shard.StatisticsOf(layout) : 0;
    options.retain_bytes = rule_.form == PushForm::kElastic ? 0 : settings_.retain_bytes;
    options.log = callbacks_.log;
    const std::size_t floats = options.range.count + options.statistics;
    if (const std::size_t bytes = floats * sizeof(float); bytes >= settings_.share_from_bytes)
      options.slots = settings_.overlap ? 2 : 1;
    auto link = ShardLink::Open(context_, options);
    if (!link.ok()) return link.status();
    PushBlockPool pool(floats, (*link)->channel().segment());
    pieces_.push_back({std::move(*link), std::move(pool), nullptr, nullptr});
    MURMURATE_RETURN_IF_ERROR(heartbeat_.AddShard(context_, options.address));
  }
  return {};
}

std::shared_ptr<Block> RemoteWorker::Filled(ShardPiece& piece, FloatParts<float> parameters) {
  auto block = piece.pool.Acquire();
  const std::span<float> to = block->floats();
  parameters.InRange(piece.range(), [&](std::span<const float> part, std::size_t at) {
    std::ranges::copy(part, to.subspan(at).begin());
  });
  statistics_.Put(piece.StatisticsIn(to));
  return block;
}

bool RemoteWorker::Answered(FloatParts<float> parameters) {
  return wait_.Wait(pieces_, [&](ShardPiece& piece) { return Filled(piece, parameters); });
}

bool RemoteWorker::Pull(FloatParts<float> parameters) {
  if (!under_way_) {
    for (ShardPiece& piece : pieces_)
      piece.link->Request({}, Filled(piece, parameters), MonotonicNs());
    under_way_ = true;
  }
  if (!Answered(parameters)) return false;
  under_way_ = false;
  if (!started_ && !pieces_.front().link->began())  // the worker that began brought them
    statistics_.ForgetOwn();
  for (ShardPiece& piece : pieces_) {
    const auto center = piece.link->block().first(piece.range().count);
    if (!started_ || rule_.form != PushForm::kElastic)
      parameters.InRange(piece.range(), [&](std::span<float> part, std::size_t at) {
        std::ranges::copy(center.subspan(at, part.size()), part.begin());
      });
    piece.version = piece.link->center().version;
    statistics_.Receive(piece.StatisticsIn(piece.link->block()));
    if (WorkerKeepsPulled(rule_))
      std::ranges::copy(center, piece.Of(std::span<float>(pulled_)).begin());
  }
  started_ = true;
  return true;
}

/// Sums what was copied in pieces that the nearest cache keeps, so the norm costs no pass of its own.
double RemoteWorker::CopyGradient(FloatParts<const float> gradient) {
  double squares = 0.0;
  for (ShardPiece& piece : pieces_) {
    if (!piece.window) piece.window = piece.pool.Acquire();
    const std::span<float> to = piece.window->floats().first(piece.range().count);
    const bool past_cache = to.size() > kLargeFloats;
    std::size_t summed = 0;
    gradient.InRange(piece.range(), [&](std::span<const float> part, std::size_t begin) {
      if (past_cache) {
        squares += CopyPastCache(part, to.subspan(begin));
        return;
      }
      for (std::size_t at = 0; at < part.size();) {
        const std::size_t end = std::min(part.size(), summed + kPieceFloats - begin);
        std::copy(part.begin() + static_cast<std::ptrdiff_t>(at),
                  part.begin() + static_cast<std::ptrdiff_t>(end),
                  to.begin() + static_cast<std::ptrdiff_t>(begin + at));
        at = end;
        if (begin + at < summed + kPieceFloats && begin + at < to.size()) continue;
        squares += SumOfSquares(to.subspan(summed, begin + at - summed));
        summed = begin + at;
      }
    });
  }
  return static_cast<float>(std::sqrt(squares));
}

void RemoteWorker::AddGradient(FloatParts<const float> gradient, float scale, int before) {
  for (ShardPiece& piece : pieces_) {
    if (!piece.window) piece.window = piece.pool.Acquire();
    const std::span<float> window = piece.window->floats();
    gradient.InRange(piece.range(), [&](std::span<const float> part, std::size_t at) {
      AddToWindow(part, scale, before, window.subspan(at, part.size()));
    });
  }
}

std::vector<std::uint64_t> RemoteWorker::Versions() const {
  std::vector<std::uint64_t> versions;
  for (const ShardPiece& piece : pieces_) versions.push_back(piece.version);
  return versions;
}

std::uint64_t RemoteWorker::Kept() const {
  std::uint64_t kept = UINT64_MAX;
  for (const ShardPiece& piece : pieces_) kept = std::min(kept, piece.link->center().kept);
  return kept;
}

void RemoteWorker::Contribute(const ShardPiece& piece, int steps, FloatParts<float> parameters,
                              std::span<float> out) const {
  if (PushesGradient(rule_))
    return Contribution(rule_, {.local = {}, .pulled = {}, .accumulated = out, .steps = steps},
                        out);
  const std::span<const float> pulled = WorkerKeepsPulled(rule_)
                                            ? piece.Of(std::span<const float>(pulled_))
                                            : std::span<const float>();
  parameters.InRange(piece.range(), [&](std::span<const float> part, std::size_t at) {
    const auto to = out.subspan(at, part.size());
    Contribution(rule_,
                 {.local = part,
                  .pulled = pulled.empty() ? pulled : pulled.subspan(at, part.size()),
                  .accumulated = to,
                  .steps = steps},
                 to);
  });
}

void RemoteWorker::Begin(double learning_rate, int steps, FloatParts<float> parameters,
                         const std::vector<std::uint64_t>& taken_at) {
  MURMURATE_CHECK(!under_way_, "the exchange before is finished");
  ++step_;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    ShardPiece& piece = pieces_[i];
    auto block = PushesGradient(rule_) ? std::move(piece.window) : piece.pool.Acquire();
    Contribute(piece, steps, parameters, block->floats().first(piece.range().count));
    statistics_.Put(piece.StatisticsIn(block->floats()));
    piece.window = nullptr;
    piece.pushed = block;
    piece.link->Request({step_, taken_at.empty() ? piece.version : taken_at[i], learning_rate},
                        std::move(block), MonotonicNs());
  }
  for (ShardPiece& piece : pieces_) piece.link->Keep();
  under_way_ = true;
}

void RemoteWorker::KeepLocalSteps(FloatParts<float> parameters) {
  if (local_then_.size() == 0) return;
  const std::span<float> then(local_then_);
  parameters.InRange({0, trained_}, [&](std::span<const float> part, std::size_t at) {
    std::ranges::copy(part, then.subspan(at).begin());
  });
}

void RemoteWorker::ApplyAnswer(ShardPiece& piece, FloatParts<float> parameters) {
  const wire::Center& center = piece.link->center();
  const auto answer = piece.link->block().first(piece.range().count);
  const auto pushed = piece.pushed->floats().first(answer.size());
  parameters.InRange(piece.range(), [&](std::span<float> local, std::size_t at) {
    const auto there = answer.subspan(at, local.size());
    if (local_then_.size() > 0) {  // x_i <- x~ + what it stepped since it pushed
      const auto then = piece.Of(std::span<const float>(local_then_)).subspan(at, local.size());
      for (std::size_t i = 0; i < local.size(); ++i) local[i] = there[i] + (local[i] - then[i]);
    } else if (rule_.name != RuleName::kEasgd || center.merged) {
      Adopt(rule_, there, pushed.subspan(at, local.size()), local);
    }
  });
  if (WorkerKeepsPulled(rule_))
    std::ranges::copy(answer, piece.Of(std::span<float>(pulled_)).begin());
  if (rule_.form == PushForm::kElastic) {
    const double norm = Norm(rule_.name == RuleName::kEasgd ? pushed : answer);
    elastic_norm_ += norm * norm;
  }
  piece.pushed = nullptr;  // its slot is free, unless the link keeps it
  piece.version = center.version;
  ++sums_.answers;
  sums_.late += center.merged ? 0 : 1;
  sums_.staleness += static_cast<double>(center.staleness);
  sums_.staleness_max = std::max(sums_.staleness_max, static_cast<double>(center.staleness));
  sums_.distance += center.distance;
  statistics_.Receive(piece.StatisticsIn(piece.link->block()));
}

bool RemoteWorker::Finish(FloatParts<float> parameters) {
  if (!Answered(parameters)) return false;
  under_way_ = false;
  elastic_norm_ = 0.0;
  for (ShardPiece& piece : pieces_) ApplyAnswer(piece, parameters);
  elastic_norm_ = std::sqrt(elastic_norm_);
  ++sums_.exchanges;
  return true;
}

}  // namespace murmurate
