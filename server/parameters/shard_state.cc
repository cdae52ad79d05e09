#include "server/parameters/shard_state.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

Status OtherModel(const std::string& got, const std::string& expected) {
  const auto arrays = ParseArrayList(got), ours = ParseArrayList(expected);
  if (arrays.ok() && ours.ok())
    return InvalidArgument(
        "the worker has other arrays than this shard: " + ArrayDifference(*arrays, *ours) +
        "; give all workers of a model the same, or another model name");
  return InvalidArgument("the worker has another model than this shard (" + got + " instead of " +
                         expected + "); give both the same [model] and game");
}

}  // namespace

Status Shard::State::Build(const std::string& text) {
  auto spec = ModelSpec::ParseAny(text);
  if (!spec.ok())
    return InvalidArgument("the worker's model cannot be read: " + spec.status().message());
  const ParameterLayout layout(*spec);
  const std::size_t statistics = index == 0 ? settings.StatisticsOf(layout) : 0;
  center = std::make_unique<ShardCenter>(settings, layout,
                                         RangeOf(layout.trained_count(), index, of), statistics);
  seen.emplace(layout, statistics);
  spec_text = text;  // last: without memory for the rest there is no model
  return {};
}

Status Shard::State::CheckJoin(const wire::Join& join, std::int64_t now_ns) const {
  const std::string here = std::to_string(index) + " of " + std::to_string(of);
  if (static_cast<int>(join.shards) != of)
    return InvalidArgument("this is shard " + here + ", the worker's parameters.shards has " +
                           std::to_string(join.shards) +
                           " addresses: together they do not cover the model; give both the same "
                           "list");
  if (static_cast<int>(join.shard) != index)
    return InvalidArgument("this is shard " + here + ", the worker takes it for shard " +
                           std::to_string(join.shard) +
                           ": an address stands twice or in another order in parameters.shards");
  if (!spec_text.empty() && join.spec != spec_text && !MayBeReplaced(now_ns))
    return OtherModel(join.spec, spec_text);
  if (join.rule != settings.ToText())
    return InvalidArgument("the worker follows other [parameters] (" + join.rule +
                           ") than this shard (" + settings.ToText() +
                           "); start both with the same config");
  return {};
}

/// A model that no worker has trained, and that has no live worker: its config may have been
/// mistyped. Version 0 alone does not say so: a shard that was started with nothing has it, too.
bool Shard::State::MayBeReplaced(std::int64_t now_ns) const {
  return version == 0 && !loaded && !begun && !workers.AnyLive(now_ns);
}

void Shard::State::Forget() {
  log(LogLevel::kInfo, "an untrained model is replaced by another");
  workers.Forget();
  arrivals.clear();
  answers.clear();
  center.reset();
  spec_text.clear();
  empty = true;
  begun = false;
}

bool Shard::State::Begin(std::uint64_t id, std::span<const float> parameters) {
  if (!center->Begin(parameters)) return false;
  seen->MarkOld();
  empty = false;
  const std::uint32_t number = workers.at(id).number;
  if (settings.workers > 1 && number != 0)
    log(LogLevel::kWarning, "the model begins with the parameters of worker " +
                                std::to_string(number) + ", as worker 0 did not come in time");
  for (auto& [other, worker] : workers)
    if (std::exchange(worker.awaits_beginning, false) && worker.member && other != id)
      RespondCenter(other, {.merged = true});
  return true;
}

/// A push that is new, with the statistics that its answer is to hold taken already.
Status Shard::State::Accept(std::uint64_t id, const wire::Push& push, std::span<const float> block,
                            std::int64_t now_ns) {
  const bool begins = empty && push.step == 0 && !block.empty();
  if (begins && !Begin(id, block)) return NotFinite(push);
  if (empty && push.step == 0) {
    workers.at(id).awaits_beginning = true;
    return {};
  }
  if (empty) return {StatusCode::kUnavailable, "this shard has no parameters yet"};
  if (push.step == 0) {
    // guard: AsynchronousShardTest.WhoseParametersCameTooLateToBeginIsToldSo: a worker that brought
    //   parameters too late is told so
    RespondCenter(id, {.merged = begins || block.empty()});  // else another began
    return {};
  }
  if (block.empty())
    return {StatusCode::kUnavailable, "push " + std::to_string(push.step) + " did not come"};
  const auto contribution = block.first(center->range().count);
  return IsSynchronous(settings.rule.name) ? Await(id, push, contribution, now_ns)
                                           : MergeNow(workers.at(id), push, contribution);
}

/// Answers a push again whose answer was lost, unless it is not due.
void Shard::State::AnswerAgain(std::uint64_t id, const wire::Push& push) {
  const ShardWorker& worker = workers.at(id);
  if (worker.held || worker.pending) return;
  const wire::Center answer{.step = push.step, .merged = true};
  Respond(id, answer);
}

Status Shard::State::NotFinite(const wire::Push& push) const {
  return InvalidArgument("push " + std::to_string(push.step) +
                         " holds numbers that are not finite, or so large that the parameters "
                         "would not stay so; lower the learning rate or set max_grad_norm");
}

Status Shard::State::MergeNow(ShardWorker& worker, const wire::Push& push,
                              std::span<const float> contribution) {
  if (NeedsPulledCopy(settings.rule.name) && !worker.pulled_center)
    worker.pulled_center = center->Share();  // pulled before this shard was started
  wire::Center answer{
      .step = push.step, .staleness = version - std::min(version, push.pulled), .merged = true};
  std::shared_ptr<Block> elastic;
  const auto scale = center->Merge(
      {.contribution = contribution,
       .staleness = answer.staleness,
       .pulled = worker.pulled_center ? worker.pulled_center->floats().first(contribution.size())
                                      : std::span<const float>(),
       .learning_rate = static_cast<float>(push.learning_rate)},
      &elastic);
  if (!scale) return NotFinite(push);
  if (NeedsPulledCopy(settings.rule.name) && *scale > 0.0f)  // scale = 1 / (d^2 / adag_scale + 1)
    answer.distance = std::sqrt(settings.rule.adag_scale * std::max(0.0, 1.0 / *scale - 1.0));
  if (elastic) {
    seen->SumInto(workers, elastic->floats().subspan(contribution.size()));
    worker.elastic = std::move(elastic);
  }
  Hold(worker, answer);
  return {};
}

/// Holds an answer until it may go, which is mostly at once.
void Shard::State::Hold(ShardWorker& worker, const wire::Center& answer) {
  seen->MarkOld();
  ++version;
  ++merged;
  worker.step = answer.step;
  ++worker.pushes;
  worker.held = answer;
  Release();
}

void Shard::State::Release() {
  const std::uint64_t slowest = workers.Slowest();
  const auto bound = static_cast<std::uint64_t>(settings.max_staleness);
  for (auto& [id, worker] : workers) {
    if (!worker.held) continue;
    if (bound > 0 && slowest != UINT64_MAX && worker.pushes > slowest + bound) continue;
    const wire::Center answer = *std::exchange(worker.held, std::nullopt);
    Respond(id, answer);
  }
}

Status Shard::State::Await(std::uint64_t id, const wire::Push& push,
                           std::span<const float> contribution, std::int64_t now_ns) {
  ShardWorker& worker = workers.at(id);
  if (push.pulled != version) {  // late: its round is over
    worker.step = push.step;
    RespondCenter(id, {.step = push.step, .staleness = version - std::min(version, push.pulled)});
    return {};
  }
  auto block = center->Copy(contribution);
  if (!block) return NotFinite(push);
  worker.pending = std::make_unique<ShardWorker::Pending>(ShardWorker::Pending{
      push.step, push.pulled, static_cast<float>(push.learning_rate), std::move(block)});
  arrivals.push_back(id);
  TryRound(now_ns);
  return {};
}

void Shard::State::TryRound(std::int64_t now_ns) {
  if (arrivals.empty()) return;
  const int missing = begun ? 0 : workers.NeverCame();
  if (missing > 0 && workers.SinceFirstJoin(now_ns) < kAwaitsWorkersNs) return;
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
    const ShardWorker& worker = workers.at(id);
    rates[worker.number] = worker.pending->learning_rate;
    parts.push_back({worker.number, worker.pending->stamp, 1.0f,
                     worker.pending->contribution->floats().first(center->range().count)});
  }
  MURMURATE_CHECK(ChooseRound(version, parts, chosen) == needed, "a push is of another round");
  float rate = 0.0f;  // the highest: the others' are measured against it
  for (const RoundPart& part : chosen) rate = std::max(rate, rates[part.worker]);
  for (RoundPart& part : chosen) part.rate_ratio = rate > 0.0f ? rates[part.worker] / rate : 1.0f;
  center->MergeRound(chosen, rate);
  ++version;
  seen->MarkOld();
  for (const std::uint64_t id : std::exchange(arrivals, {})) {
    ShardWorker& worker = workers.at(id);
    const bool chosen_one = std::any_of(chosen.begin(), chosen.end(), [&](const RoundPart& part) {
      return part.worker == worker.number;
    });
    merged += chosen_one ? 1 : 0;
    worker.step = std::exchange(worker.pending, nullptr)->step;
    ++worker.pushes;
    if (worker.member) RespondCenter(id, {.step = worker.step, .merged = chosen_one});
  }
}

void Shard::State::Respond(std::uint64_t id, const wire::Center& answer) {
  if (AnswerIsElastic(settings.rule.name))
    RespondElastic(id, answer);
  else
    RespondCenter(id, answer);
}

void Shard::State::RespondCenter(std::uint64_t id, const wire::Center& answer) {
  if (seen->PopOld()) seen->SumInto(workers, center->Statistics());
  auto block = center->Share();
  if (NeedsPulledCopy(settings.rule.name)) workers.at(id).pulled_center = block;
  Send(id, answer, std::move(block));
}

void Shard::State::RespondElastic(std::uint64_t id, const wire::Center& answer) {
  ShardWorker& worker = workers.at(id);
  if (!worker.elastic) {  // lost with the shard that made it
    auto none = std::make_shared<Block>(center->block_floats());
    seen->SumInto(workers, none->floats().subspan(center->range().count));
    worker.elastic = std::move(none);
  }
  Send(id, answer, worker.elastic);
}

void Shard::State::Send(std::uint64_t id, wire::Center answer, std::shared_ptr<const Block> block) {
  ShardWorker& worker = workers.at(id);
  worker.pulled = version;
  answer.version = version;
  answer.kept = worker.kept;
  answers.push_back({id, answer, std::move(block)});
}

}  // namespace murmurate
