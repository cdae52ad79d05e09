#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "server/parameters/apply.h"
#include "server/parameters/observation_sum.h"
#include "server/parameters/shard_state.h"
#include "server/parameters/update_rule.h"
#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kLargeFloats = 4u << 20;  ///< leave the cache before they are read again

/// False: some are too large, or not finite. Who pushed may be writing `from`, so what is checked
/// is a copy, which then goes into `to`.
bool CopySmall(std::span<const float> from, std::span<float> to) {
  const auto kind = to.size() > kLargeFloats ? CopyKind::kPastCache : CopyKind::kOrdinary;
  alignas(64) std::array<float, kPieceFloats> own;
  for (std::size_t at = 0; at < from.size(); at += kPieceFloats) {
    const auto piece = from.subspan(at, std::min(kPieceFloats, from.size() - at));
    const auto copy = std::span<float>(own).first(piece.size());
    std::copy(piece.begin(), piece.end(), copy.begin());
    if (!AllWithin(kLargestFloat, copy)) return false;
    (void)CopyFinite(to.data() + at, copy, kind);
  }
  return true;
}

}  // namespace

Status Shard::State::NotFinite(const wire::Push& push) const {
  return InvalidArgument("push " + std::to_string(push.step) +
                         " holds numbers that are not finite, or so large that the parameters "
                         "would not stay so; lower the learning rate or set max_grad_norm");
}

std::span<float> Shard::State::Renewed() {
  // guard: AnyOptimizer.AnAnswerIsNotWrittenAnyMore/1: a center that is out as an answer is not
  //   written any more
  if (is_out) {
    auto next = pool->Take();
    std::copy(center->floats().begin(), center->floats().end(), next->floats().begin());
    center = std::move(next);
    is_out = false;
  }
  return center->floats().first(range.count);
}

/// Each number is stepped by itself, so it is read, stepped, checked and put into the next center
/// in one pass. A next center that is not finite is forgotten. One that is too large for the cache
/// goes past it, piece by piece, because its lines need not be read then.
bool Shard::State::StepIntoNext(float learning_rate, float scale,
                                std::span<const float> contribution) {
  auto next = pool->Take();
  const std::span<const float> from = Trained();
  const std::span<float> to = next->floats().first(range.count);
  if (range.count <= kLargeFloats) {
    if (!plain->StepInto(learning_rate, scale, from, contribution, to)) return false;
  } else {
    for (std::size_t at = 0; at < to.size(); at += kPieceFloats) {
      const std::size_t count = std::min(kPieceFloats, to.size() - at);
      const auto piece = std::span(scratch).first(count);
      (void)plain->StepInto(learning_rate, scale, from.subspan(at, count),
                            contribution.subspan(at, count), piece);
      if (!CopyFinite(to.data() + at, piece, CopyKind::kPastCache)) return false;
    }
  }
  plain->Count();
  center = std::move(next);
  is_out = false;
  return true;
}

Status Shard::State::MergeNow(Worker& worker, const wire::Push& push,
                              std::span<const float> contribution) {
  if (NeedsPulledCopy(settings.rule.name) && !worker.pulled_center) {
    worker.pulled_center = center;  // pulled before this shard was started
    is_out = true;
  }
  wire::Center answer{
      .step = push.step, .staleness = version - std::min(version, push.pulled), .merged = true};
  murmurate::Push merged{.contribution = contribution,
                         .staleness = answer.staleness,
                         .pulled = worker.pulled_center
                                       ? worker.pulled_center->floats().first(range.count)
                                       : std::span<const float>(),
                         .learning_rate = static_cast<float>(push.learning_rate)};
  std::shared_ptr<Block> elastic;
  float scale = 1.0f;
  if (plain) {
    scale = MergeScale(settings.rule, merged, Trained());
    if (!StepIntoNext(merged.learning_rate, scale, contribution)) return NotFinite(push);
  } else {
    merged.contribution = std::span(scratch).first(range.count);
    if (!CopySmall(contribution, std::span(scratch).first(range.count))) return NotFinite(push);
    if (AnswerIsElastic(settings.rule.name)) elastic = pool->Take();
    scale = Merge(settings.rule, merged, Renewed(), optimizer.get(),
                  elastic ? elastic->floats().first(range.count) : std::span<float>());
  }
  if (NeedsPulledCopy(settings.rule.name) && scale > 0.0f)  // scale = 1 / (d^2 / adag_scale + 1)
    answer.distance = std::sqrt(settings.rule.adag_scale * std::max(0.0, 1.0 / scale - 1.0));
  if (elastic) {
    PutStatistics(elastic.get());
    worker.elastic = std::move(elastic);
  }
  Hold(worker, answer);
  return {};
}

/// Until it may go, which is mostly at once.
void Shard::State::Hold(Worker& worker, const wire::Center& answer) {
  old_statistics = statistics > 0;
  ++version;
  worker.step = answer.step;
  ++worker.pushes;
  worker.held = answer;
  Release();
}

void Shard::State::Release() {
  const std::uint64_t slowest = Slowest();
  const auto bound = static_cast<std::uint64_t>(settings.max_staleness);
  for (auto& [id, worker] : workers) {
    if (!worker.held) continue;
    if (bound > 0 && slowest != UINT64_MAX && worker.pushes > slowest + bound) continue;
    const wire::Center answer = *std::exchange(worker.held, std::nullopt);
    if (AnswerIsElastic(settings.rule.name))
      RespondElastic(id, answer);
    else
      Respond(id, answer);
  }
}

Status Shard::State::Await(std::uint64_t id, const wire::Push& push,
                           std::span<const float> contribution, std::int64_t now_ns) {
  Worker& worker = workers.at(id);
  if (push.pulled != version) {  // late: its round is over
    worker.step = push.step;
    Respond(id, {.step = push.step, .staleness = version - std::min(version, push.pulled)});
    return {};
  }
  auto block = pool->Take();
  if (!CopySmall(contribution, block->floats().first(range.count))) return NotFinite(push);
  worker.pending = std::make_unique<Pending>(
      Pending{push.step, push.pulled, static_cast<float>(push.learning_rate), std::move(block)});
  arrivals.push_back(id);
  TryRound(now_ns);
  return {};
}

/// Of the workers that are expected; who came and died since is not among them.
int Shard::State::NeverCame() const {
  std::set<std::uint32_t> came;
  for (const auto& [id, worker] : workers)
    if (worker.came) came.insert(worker.number);
  return std::max(0, settings.workers - static_cast<int>(came.size()));
}

void Shard::State::TryRound(std::int64_t now_ns) {
  if (arrivals.empty()) return;
  const int missing = begun ? 0 : NeverCame();
  if (missing > 0 && now_ns - first_joined_ns.value_or(now_ns) < kAwaitsWorkersNs) return;
  const auto counts = [](const auto& entry) {
    return entry.second.pending || (entry.second.member && !entry.second.waiting);
  };
  const auto expected = std::count_if(workers.begin(), workers.end(), counts);
  const auto needed = static_cast<std::size_t>(std::max<long>(1, expected - settings.backup));
  if (arrivals.size() < needed) return;
  if (missing > 0)
    log(LogLevel::kWarning, "the first round goes on without " + std::to_string(missing) + " of " +
                                std::to_string(settings.workers) +
                                " workers, which have not come for a minute; they still may");
  MergeArrivals(needed);
}

void Shard::State::MergeArrivals(std::size_t needed) {
  begun = true;
  std::map<std::uint32_t, float> rates;
  std::vector<RoundPart> parts, chosen(needed);
  for (const std::uint64_t id : arrivals) {
    const Worker& worker = workers.at(id);
    rates[worker.number] = worker.pending->learning_rate;
    parts.push_back({worker.number, worker.pending->stamp, 1.0f,
                     worker.pending->contribution->floats().first(range.count)});
  }
  MURMURATE_CHECK(ChooseRound(version, parts, chosen) == needed, "a push is of another round");
  float rate = 0.0f;  // the highest: the others' are measured against it
  for (const RoundPart& part : chosen) rate = std::max(rate, rates[part.worker]);
  for (RoundPart& part : chosen) part.rate_ratio = rate > 0.0f ? rates[part.worker] / rate : 1.0f;
  (void)MergeRound(settings.rule, chosen, {rate, settings.max_grad_norm}, scratch, Renewed(),
                   optimizer.get());
  ++version;
  old_statistics = statistics > 0;
  for (const std::uint64_t id : std::exchange(arrivals, {})) {
    Worker& worker = workers.at(id);
    const bool merged = std::any_of(chosen.begin(), chosen.end(), [&](const RoundPart& part) {
      return part.worker == worker.number;
    });
    worker.step = std::exchange(worker.pending, nullptr)->step;
    ++worker.pushes;
    if (worker.member) Respond(id, {.step = worker.step, .merged = merged});
  }
}

void Shard::State::PutStatistics(Block* block) const {
  if (statistics == 0) return;
  std::vector<const Worker*> in_order;
  for (const auto& [id, worker] : workers)
    if (worker.statistics.size() == statistics) in_order.push_back(&worker);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const Worker* a, const Worker* b) { return a->number < b->number; });
  std::vector<std::span<const float>> seen;
  for (const Worker* worker : in_order) seen.emplace_back(worker->statistics);
  SumObservations(*layout, seen, block->floats().subspan(range.count));
}

void Shard::State::Respond(std::uint64_t id, const wire::Center& given) {
  if (std::exchange(old_statistics, false)) {
    (void)Renewed();
    PutStatistics(center.get());
  }
  is_out = true;
  Worker& worker = workers.at(id);
  worker.pulled = version;
  if (NeedsPulledCopy(settings.rule.name)) worker.pulled_center = center;
  wire::Center answer = given;
  answer.version = version;
  answer.kept = worker.kept;
  answers.push_back({id, answer, center});
}

void Shard::State::RespondElastic(std::uint64_t id, const wire::Center& given) {
  Worker& worker = workers.at(id);
  if (!worker.elastic) {  // lost with the shard that made it
    auto none = std::make_shared<Block>(range.count + statistics);
    PutStatistics(none.get());
    worker.elastic = std::move(none);
  }
  worker.pulled = version;
  wire::Center answer = given;
  answer.version = version;
  answer.kept = worker.kept;
  answers.push_back({id, answer, worker.elastic});
}

}  // namespace murmurate
