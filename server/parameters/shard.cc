#include "server/parameters/shard.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "server/parameters/observation_sum.h"
#include "server/parameters/shard_state.h"
#include "server/parameters/update_rule.h"
#include "shared/core/check.h"
#include "shared/experience/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kFloatsInALine = 16;

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string TextOf(const OptimizerSettings& o) {
  using Name = OptimizerSettings::Name;
  switch (o.name) {
    case Name::kAdam:
      return "adam " + Number(o.adam.beta1) + ' ' + Number(o.adam.beta2) + ' ' +
             Number(o.adam.epsilon) + ' ' + Number(o.adam.weight_decay);
    case Name::kRmsProp:
      return "rmsprop " + Number(o.rmsprop.decay) + ' ' + Number(o.rmsprop.epsilon) + ' ' +
             Number(o.rmsprop.weight_decay);
    case Name::kSgd:
      return "sgd " + Number(o.sgd.weight_decay);
    case Name::kMomentum:
      return "momentum " + Number(o.momentum.delta) + ' ' + Number(o.momentum.weight_decay);
    case Name::kAdagrad:
      return "adagrad " + Number(o.adagrad.epsilon) + ' ' + Number(o.adagrad.weight_decay);
  }
  return "";
}

}  // namespace

std::string ShardSettings::ToText() const {
  std::string text = std::string("rule ") + murmurate::TextOf(rule.name) + ", form " +
                     murmurate::TextOf(rule.form) + ", window " + std::to_string(rule.window) +
                     ", elastic " + Number(rule.elastic) + ", adag_scale " +
                     Number(rule.adag_scale) + ", backup " + std::to_string(backup) +
                     ", max_staleness " + std::to_string(max_staleness) + ", optimizer " +
                     TextOf(optimizer) + ", max_grad_norm " + Number(max_grad_norm);
  return text;
}

PartRange RangeOf(std::size_t trained, int index, int of) {
  const std::size_t lines = (trained + kFloatsInALine - 1) / kFloatsInALine;
  const auto border = [&](int i) {
    const std::size_t at = lines * static_cast<std::size_t>(i) / static_cast<std::size_t>(of);
    return std::min(trained, at * kFloatsInALine);
  };
  return {border(index), border(index + 1) - border(index)};
}

Status Shard::State::Build(const std::string& text) {
  auto spec = ModelSpec::Parse(text);
  if (!spec.ok())
    return InvalidArgument("the worker's model cannot be read: " + spec.status().message());
  spec_text = text;
  layout.emplace(*spec);
  range = RangeOf(layout->trained_count(), index, of);
  statistics = index == 0 ? layout->statistics.count : 0;
  center = AlignedFloats(range.count);
  scratch = AlignedFloats(range.count);
  optimizer = MakeOptimizer(settings.optimizer, range.count);
  pool = std::make_unique<BlockPool>(range.count + statistics);
  return {};
}

Status Shard::State::CheckJoin(const wire::Join& join) const {
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
  if (!spec_text.empty() && join.spec != spec_text)
    return InvalidArgument("the worker has another model than this shard (" + join.spec +
                           " instead of " + spec_text + "); give both the same [model] and game");
  if (join.rule != settings.ToText())
    return InvalidArgument("the worker follows other [parameters] (" + join.rule +
                           ") than this shard (" + settings.ToText() +
                           "); start both with the same config");
  return {};
}

void Shard::State::Begin(std::span<const float> parameters) {
  std::copy_n(parameters.begin(), range.count, center.begin());
  empty = false;
  newest.reset();
}

void Shard::State::PutStatistics(AlignedFloats* block) const {
  if (statistics == 0) return;
  std::vector<std::span<const float>> seen;
  for (const auto& [id, worker] : workers)
    if (worker.statistics.size() == statistics) seen.emplace_back(worker.statistics);
  SumObservations(*layout, seen, std::span(block->data() + range.count, statistics));
}

void Shard::State::Respond(std::uint64_t id, const wire::Center& given) {
  if (!newest) {
    auto block = pool->Take();
    std::copy(center.begin(), center.end(), block->begin());
    PutStatistics(block.get());
    newest = std::move(block);
  }
  Worker& worker = workers.at(id);
  worker.pulled = version;
  if (NeedsPulledCopy(settings.rule.name)) {
    if (worker.pulled_center.size() != range.count)
      worker.pulled_center = AlignedFloats(range.count);
    std::copy(center.begin(), center.end(), worker.pulled_center.begin());
  }
  wire::Center answer = given;
  answer.version = version;
  answer.kept = worker.kept;
  answers.push_back({id, answer, newest});
}

void Shard::State::RespondElastic(std::uint64_t id, const wire::Center& given) {
  Worker& worker = workers.at(id);
  if (!worker.elastic) worker.elastic = std::make_shared<AlignedFloats>(range.count + statistics);
  worker.pulled = version;
  wire::Center answer = given;
  answer.version = version;
  answer.kept = worker.kept;
  answers.push_back({id, answer, worker.elastic});
}

/// The answer was lost, or is not due.
void Shard::State::AnswerAgain(std::uint64_t id, const wire::Push& push) {
  const Worker& worker = workers.at(id);
  if (worker.held || worker.pending) return;
  const wire::Center answer{.step = push.step, .merged = true};
  if (AnswerIsElastic(settings.rule.name))
    RespondElastic(id, answer);
  else
    Respond(id, answer);
}

int Shard::State::Members() const {
  return static_cast<int>(std::count_if(workers.begin(), workers.end(),
                                        [](const auto& entry) { return entry.second.member; }));
}

std::uint64_t Shard::State::Slowest() const {
  std::uint64_t slowest = UINT64_MAX;
  for (const auto& [id, worker] : workers)
    if (worker.member && !worker.waiting) slowest = std::min(slowest, worker.pushes);
  return slowest;
}

void Shard::State::MergeNow(Worker& worker, const wire::Push& push,
                            std::span<const float> contribution) {
  if (NeedsPulledCopy(settings.rule.name) && worker.pulled_center.size() != range.count) {
    worker.pulled_center = AlignedFloats(range.count);  // pulled before this shard was started
    std::copy(center.begin(), center.end(), worker.pulled_center.begin());
  }
  wire::Center answer{
      .step = push.step, .staleness = version - std::min(version, push.pulled), .merged = true};
  std::shared_ptr<AlignedFloats> elastic;
  if (AnswerIsElastic(settings.rule.name)) elastic = pool->Take();
  const float scale = Merge(settings.rule,
                            {.contribution = contribution,
                             .staleness = answer.staleness,
                             .pulled = worker.pulled_center,
                             .learning_rate = static_cast<float>(push.learning_rate)},
                            center, optimizer.get(),
                            elastic ? std::span(elastic->data(), range.count) : std::span<float>());
  if (NeedsPulledCopy(settings.rule.name) && scale > 0.0f)  // scale = 1 / (d^2 / adag_scale + 1)
    answer.distance = std::sqrt(settings.rule.adag_scale * std::max(0.0, 1.0 / scale - 1.0));
  if (elastic) {
    PutStatistics(elastic.get());
    worker.elastic = std::move(elastic);
  }
  ++version;
  newest.reset();
  worker.step = push.step;
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

void Shard::State::Await(std::uint64_t id, const wire::Push& push,
                         std::span<const float> contribution) {
  Worker& worker = workers.at(id);
  if (push.pulled != version) {  // late: its round is over
    worker.step = push.step;
    Respond(id, {.step = push.step, .staleness = version - std::min(version, push.pulled)});
    return;
  }
  worker.pending = std::make_unique<Pending>(Pending{push.step, push.pulled,
                                                     static_cast<float>(push.learning_rate),
                                                     AlignedFloats(contribution.size())});
  std::copy(contribution.begin(), contribution.end(), worker.pending->contribution.begin());
  arrivals.push_back(id);
  TryRound();
}

void Shard::State::TryRound() {
  if (arrivals.empty() || (!begun && Members() < settings.workers)) return;
  const auto counts = [](const auto& entry) {
    return entry.second.pending || (entry.second.member && !entry.second.waiting);
  };
  const auto expected = std::count_if(workers.begin(), workers.end(), counts);
  const auto needed = static_cast<std::size_t>(std::max<long>(1, expected - settings.backup));
  if (arrivals.size() >= needed) MergeArrivals(needed);
}

void Shard::State::MergeArrivals(std::size_t needed) {
  begun = true;
  std::map<std::uint32_t, float> rates;
  std::vector<RoundPart> parts, chosen(needed);
  for (const std::uint64_t id : arrivals) {
    const Worker& worker = workers.at(id);
    rates[worker.number] = worker.pending->learning_rate;
    parts.push_back({worker.number, worker.pending->stamp, 1.0f, worker.pending->contribution});
  }
  MURMURATE_CHECK(ChooseRound(version, parts, chosen) == needed, "a push is of another round");
  const float rate = rates[chosen.front().worker];  // the others' are measured against it
  for (RoundPart& part : chosen) part.rate_ratio = rate > 0.0f ? rates[part.worker] / rate : 1.0f;
  (void)MergeRound(settings.rule, chosen, {rate, settings.max_grad_norm}, scratch, center,
                   optimizer.get());
  ++version;
  newest.reset();
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

void Shard::State::Leaves(Worker& worker, const char* why) {
  if (!worker.member) return;
  worker.member = false;
  worker.held.reset();
  log(LogLevel::kWarning, "worker " + std::to_string(worker.number) + ' ' + why + "; " +
                              std::to_string(Members()) + " are left");
}

Shard::Shard(const ShardSettings& settings, int index, int of, LogCallback log)
    : state_(std::make_unique<State>(settings, index, of, std::move(log))) {}
Shard::~Shard() = default;

Result<wire::Joined> Shard::Join(std::uint64_t worker, const wire::Join& join,
                                 std::int64_t now_ns) {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.CheckJoin(join));
  if (s.spec_text.empty()) MURMURATE_RETURN_IF_ERROR(s.Build(join.spec));
  for (const auto& [id, other] : s.workers)
    if (id != worker && other.member && other.number == join.worker &&
        now_ns - other.heard_ns < s.settings.dead_after_ns)
      return InvalidArgument("there is a worker " + std::to_string(join.worker) +
                             " already; give each learner a number of its own (parameters.worker)");
  const std::uint64_t slowest = s.Slowest();
  State::Worker& entry = s.workers[worker];
  if (!entry.member) {
    if (slowest != UINT64_MAX) entry.pushes = std::max(entry.pushes, slowest);
    s.log(LogLevel::kInfo, "worker " + std::to_string(join.worker) + " joined");
  }
  entry.number = join.worker;
  entry.member = true;
  entry.waiting = false;
  entry.heard_ns = now_ns;
  const std::uint64_t step = entry.pending ? entry.pending->step : entry.step;
  return wire::Joined{s.version, s.range.begin, s.range.count, s.empty, step};
}

Status Shard::State::CheckBlock(const wire::Push& push, std::span<const float> block) const {
  const std::size_t whole = range.count + statistics;
  if (block.size() != whole && !block.empty())
    return InvalidArgument("expected a block of " + std::to_string(whole) + " floats, got " +
                           std::to_string(block.size()));
  if (!AllFinite(block))
    return InvalidArgument("push " + std::to_string(push.step) +
                           " holds numbers that are not finite");
  return {};
}

Status Shard::OnPush(std::uint64_t id, const wire::Push& push, std::span<const float> block,
                     std::int64_t now_ns) {
  State& s = *state_;
  const auto found = s.workers.find(id);
  if (found == s.workers.end() || !found->second.member)
    return {StatusCode::kUnavailable, "this worker is no member; it has to join"};
  State::Worker& worker = found->second;
  worker.heard_ns = now_ns;
  worker.waiting = false;
  MURMURATE_RETURN_IF_ERROR(s.CheckBlock(push, block));
  if (!block.empty() && s.statistics > 0) {
    if (worker.statistics.size() != s.statistics) worker.statistics = AlignedFloats(s.statistics);
    std::copy(block.begin() + s.range.count, block.end(), worker.statistics.begin());
    s.newest.reset();
  }
  if (s.empty && push.step == 0 && !block.empty()) s.Begin(block);
  if (s.empty) return {StatusCode::kUnavailable, "this shard has no parameters yet"};
  if (push.step == 0) {
    s.Respond(id, {.merged = true});
  } else if (push.step <= worker.step || worker.pending) {
    s.AnswerAgain(id, push);
  } else if (block.empty()) {
    return {StatusCode::kUnavailable, "push " + std::to_string(push.step) + " did not come"};
  } else if (IsSynchronous(s.settings.rule.name)) {
    s.Await(id, push, block.first(s.range.count));
  } else {
    s.MergeNow(worker, push, block.first(s.range.count));
  }
  return {};
}

void Shard::OnAlive(std::uint64_t id, bool waiting, std::int64_t now_ns) {
  const auto found = state_->workers.find(id);
  if (found == state_->workers.end()) return;
  found->second.heard_ns = now_ns;
  found->second.waiting = waiting && !found->second.pending;
}

void Shard::OnBye(std::uint64_t id, std::int64_t now_ns) {
  const auto found = state_->workers.find(id);
  if (found == state_->workers.end()) return;
  state_->Leaves(found->second, "has left");
  Tick(now_ns);
}

void Shard::Tick(std::int64_t now_ns) {
  State& s = *state_;
  for (auto& [id, worker] : s.workers)
    if (now_ns - worker.heard_ns >= s.settings.dead_after_ns) s.Leaves(worker, "is silent");
  if (IsSynchronous(s.settings.rule.name))
    s.TryRound();
  else
    s.Release();
}

std::vector<Shard::Answer> Shard::TakeAnswers() { return std::exchange(state_->answers, {}); }

std::string Shard::Waits() const {
  const State& s = *state_;
  std::string who, whom;
  const auto add = [](std::string* to, std::uint32_t number) {
    *to += (to->empty() ? "" : ", ") + std::to_string(number);
  };
  const std::uint64_t slowest = s.Slowest();
  for (const auto& [id, worker] : s.workers) {
    if (worker.pending || worker.held) {
      add(&who, worker.number);
    } else if (worker.member && !worker.waiting &&
               (IsSynchronous(s.settings.rule.name) || worker.pushes == slowest)) {
      add(&whom, worker.number);
    }
  }
  if (who.empty()) return "";
  const std::string for_whom = whom.empty() ? "those that have not joined yet" : "worker " + whom;
  if (IsSynchronous(s.settings.rule.name))
    return "worker " + who + " waits for " + for_whom + ": round " + std::to_string(s.version + 1) +
           " is not complete";
  return "worker " + who + " waits for " + for_whom +
         ": it is more than max_staleness = " + std::to_string(s.settings.max_staleness) +
         " pushes ahead";
}

bool Shard::empty() const { return state_->empty; }
const std::string& Shard::spec() const { return state_->spec_text; }
std::uint64_t Shard::version() const { return state_->version; }
std::span<const float> Shard::center() const { return state_->center; }
PartRange Shard::range() const { return state_->range; }
int Shard::members() const { return state_->Members(); }

}  // namespace murmurate
