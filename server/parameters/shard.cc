#include "server/parameters/shard.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "server/metrics/number_text.h"
#include "server/parameters/shard_state.h"
#include "server/parameters/update_rule.h"
#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::size_t kFloatsInALine = 16;
constexpr int kWorkersWithRoom = 16;                       ///< when blocks are small
constexpr std::size_t kRoomFloats = std::size_t{4} << 20;  ///< 16 MiB, for more than are expected

std::string Number(double value) { return FormatNumber("%.9g", value); }

/// The optimizer's name and its numbers.
std::string TextOf(const OptimizerSettings& o) {
  using Name = OptimizerSettings::Name;
  std::vector<float> numbers;
  switch (o.name) {
    case Name::kAdam:
      numbers = {o.adam.beta1, o.adam.beta2, o.adam.epsilon, o.adam.weight_decay};
      break;
    case Name::kRmsProp:
      numbers = {o.rmsprop.decay, o.rmsprop.epsilon, o.rmsprop.weight_decay};
      break;
    case Name::kSgd:
      numbers = {o.sgd.weight_decay};
      break;
    case Name::kMomentum:
      numbers = {o.momentum.delta, o.momentum.weight_decay};
      break;
    case Name::kAdagrad:
      numbers = {o.adagrad.epsilon, o.adagrad.weight_decay};
      break;
  }
  std::string text = murmurate::TextOf(o.name);
  for (const float number : numbers) text += ' ' + Number(number);
  return text;
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
  layout.emplace(*spec);
  range = RangeOf(layout->trained_count(), index, of);
  statistics = index == 0 ? layout->statistics.count : 0;
  optimizer = MakeOptimizer(settings.optimizer, range.count);
  const bool gradients = settings.rule.form == PushForm::kGradient;
  if (settings.optimizer.name == OptimizerSettings::Name::kSgd && gradients)
    plain = static_cast<Sgd*>(optimizer.get());
  scratch = AlignedFloats(IsStepInPieces() ? kPieceFloats : range.count);
  shared = nullptr;
  pool = std::make_unique<BlockPool>(range.count + statistics);
  center = std::make_shared<Block>(range.count + statistics);
  is_out = false;
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
    return InvalidArgument("the worker has another model than this shard (" + join.spec +
                           " instead of " + spec_text + "); give both the same [model] and game");
  if (join.rule != settings.ToText())
    return InvalidArgument("the worker follows other [parameters] (" + join.rule +
                           ") than this shard (" + settings.ToText() +
                           "); start both with the same config");
  return {};
}

/// Nobody has trained it, and nobody is left who would: its config may have been mistyped. Version
/// 0 alone does not say so: a shard that was started with nothing has it, too.
bool Shard::State::MayBeReplaced(std::int64_t now_ns) const {
  return version == 0 && !loaded && !begun &&
         std::none_of(workers.begin(), workers.end(),
                      [&](const auto& entry) { return IsLive(entry.second, now_ns); });
}

void Shard::State::Forget() {
  log(LogLevel::kInfo, "a model that nobody has trained gives way to another");
  workers.clear();
  arrivals.clear();
  answers.clear();
  center.reset();
  first_joined_ns.reset();
  spec_text.clear();
  empty = true;
  begun = false;
}

/// Worker 0, as long as it may still come: so the model begins the same each time. Then one whom
/// every shard would choose, or the ranges would begin with different workers' numbers.
bool Shard::State::MayBegin(const Worker& worker, std::int64_t now_ns) const {
  if (worker.number == 0 || worker.trained || settings.workers <= 1) return true;
  if (now_ns - first_joined_ns.value_or(now_ns) < settings.dead_after_ns) return false;
  return std::none_of(workers.begin(), workers.end(), [&](const auto& entry) {
    return entry.second.number < worker.number && IsLive(entry.second, now_ns);
  });
}

bool Shard::State::Begin(std::uint64_t id, std::span<const float> parameters) {
  const std::span<float> beginning = Renewed();
  std::copy_n(parameters.begin(), range.count, beginning.begin());
  if (!AllFinite(beginning)) return false;
  old_statistics = true;
  empty = false;
  const std::uint32_t number = workers.at(id).number;
  if (settings.workers > 1 && number != 0)
    log(LogLevel::kWarning, "the model begins with the parameters of worker " +
                                std::to_string(number) + ", as worker 0 did not come in time");
  for (auto& [other, worker] : workers)
    if (std::exchange(worker.awaits_beginning, false) && worker.member && other != id)
      Respond(other, {.merged = true});
  return true;
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

void Shard::State::Leaves(Worker& worker, LogLevel level, const char* why) {
  if (!worker.member) return;
  worker.member = false;
  worker.held.reset();
  worker.pulled_center.reset();
  worker.awaits_beginning = false;
  log(level, "worker " + std::to_string(worker.number) + ' ' + why + "; " +
                 std::to_string(Members()) + " are left");
}

Shard::Shard(const ShardSettings& settings, int index, int of, LogCallback log)
    : state_(std::make_unique<State>(settings, index, of, std::move(log))) {}
Shard::~Shard() = default;

Result<wire::Joined> Shard::Join(std::uint64_t worker, const wire::Join& join,
                                 std::int64_t now_ns) try {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.CheckJoin(join, now_ns));
  const bool is_another = join.spec != s.spec_text || !s.workers.contains(worker);
  if (!s.spec_text.empty() && is_another && s.MayBeReplaced(now_ns)) s.Forget();
  if (s.spec_text.empty()) MURMURATE_RETURN_IF_ERROR(s.Build(join.spec));
  for (const auto& [id, other] : s.workers)
    if (id != worker && other.number == join.worker && s.IsLive(other, now_ns))
      return Status(StatusCode::kAlreadyRunning,
                    "there is a worker " + std::to_string(join.worker) +
                        " already; give each learner a number of its own (parameters.worker)");
  s.Succeed(worker, join.worker);
  const std::uint64_t slowest = s.Slowest();
  const auto [place, is_new] = s.workers.try_emplace(worker);
  State::Worker& entry = place->second;
  // Started with nothing, this shard got a worker's parameters, which hold all that was pushed.
  if (is_new && !s.loaded && join.step > 0) entry.step = join.step - 1;
  if (!entry.member) {
    if (slowest != UINT64_MAX) entry.pushes = std::max(entry.pushes, slowest);
    s.log(LogLevel::kInfo, "worker " + std::to_string(join.worker) + " joined");
  }
  entry.number = join.worker;
  entry.member = entry.came = true;
  entry.left = false;
  entry.waiting = false;
  entry.awaits_beginning = false;
  entry.trained = join.step > 0;
  entry.heard_ns = now_ns;
  if (!s.first_joined_ns) s.first_joined_ns = now_ns;
  if (join.step > 1) s.begun = true;  // it has learned with others before this shard was started
  const bool begins = s.empty && s.MayBegin(entry, now_ns);
  const std::uint64_t step = entry.pending ? entry.pending->step : entry.step;
  return wire::Joined{s.version, s.range.begin, s.range.count, begins, step};
} catch (const std::bad_alloc&) {
  return ResourceError("the shard has no memory for the worker's model; give it more shards");
}

/// What one of the same number had under way when it died is not waited for, or merged, any more.
void Shard::State::Succeed(std::uint64_t successor, std::uint32_t number) {
  for (auto& [id, other] : workers) {
    if (id == successor || other.number != number) continue;
    other.left = true;
    other.elastic.reset();
    if (!other.pending) continue;
    other.step = std::exchange(other.pending, nullptr)->step;
    std::erase(arrivals, id);
  }
}

Status Shard::State::TakeStatistics(Worker* worker, const wire::Push& push,
                                    std::span<const float> block) {
  if (block.empty() || statistics == 0) return {};
  const auto seen = block.subspan(range.count);
  if (arrived.size() != statistics) arrived = AlignedFloats(statistics);
  std::copy(seen.begin(), seen.end(), arrived.begin());
  if (!AllFinite(arrived)) return NotFinite(push);
  std::swap(worker->statistics, arrived);
  old_statistics = true;
  return {};
}

/// What TakeStatistics took, of a push that is refused.
void Shard::State::PutBackStatistics(Worker* worker, std::span<const float> block) {
  if (!block.empty() && statistics > 0) std::swap(worker->statistics, arrived);
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
    Respond(id, {.merged = begins || block.empty()});  // else another began
    return {};
  }
  if (block.empty())
    return {StatusCode::kUnavailable, "push " + std::to_string(push.step) + " did not come"};
  const auto contribution = block.first(range.count);
  return IsSynchronous(settings.rule.name) ? Await(id, push, contribution, now_ns)
                                           : MergeNow(workers.at(id), push, contribution);
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
  const std::size_t whole = s.range.count + s.statistics;
  if (block.size() != whole && !block.empty())
    return InvalidArgument("expected a block of " + std::to_string(whole) + " floats, got " +
                           std::to_string(block.size()));
  const bool known = push.step != 0 && (push.step <= worker.step || worker.pending);
  if (known && !s.empty) {  // its block is not looked at: it may be another's by now
    s.AnswerAgain(id, push);
    return {};
  }
  MURMURATE_RETURN_IF_ERROR(s.TakeStatistics(&worker, push, block));
  Status status = s.Accept(id, push, block, now_ns);
  // guard: AnyRule.APushThatIsRefusedLeavesWhatItsWorkerHadSeenAsItWas: the statistics of a refused
  //   push are put back
  if (!status.ok()) s.PutBackStatistics(&worker, block);
  return status;
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
  state_->Leaves(found->second, LogLevel::kInfo, "has left");
  found->second.left = true;
  found->second.heard_ns = now_ns;
  found->second.elastic.reset();  // it does not come back
  Tick(now_ns);
}

void Shard::Tick(std::int64_t now_ns) {
  State& s = *state_;
  for (auto& [id, worker] : s.workers) {
    if (worker.heard_ns == 0) worker.heard_ns = now_ns;  // loaded: it has from now on to come back
    if (now_ns - worker.heard_ns >= s.settings.dead_after_ns)
      s.Leaves(worker, LogLevel::kWarning, "is silent");
  }
  if (IsSynchronous(s.settings.rule.name))
    s.TryRound(now_ns);
  else
    s.Release();
}

Shard::Use Shard::use(std::int64_t now_ns) const {
  const State& s = *state_;
  std::int64_t heard_ns = 0;
  bool all_left = true;
  for (const auto& [id, worker] : s.workers) {
    if (worker.member) return Use::kUsed;
    heard_ns = std::max(heard_ns, worker.heard_ns);
    all_left = all_left && (worker.left || now_ns - worker.heard_ns >= kAwaitsReturnNs);
  }
  if (s.version == s.first_version) return Use::kUnused;
  const bool all_came = s.NeverCame() == 0 || now_ns - heard_ns >= kAwaitsReturnNs;
  return all_left && all_came ? Use::kLeft : Use::kUsed;
}

/// Enough places for the center, the next one, an answer that each worker reads, and one more.
/// Where they cost little, also for workers that nobody announced.
Result<std::shared_ptr<ShardSegment>> Shard::ShareAnswers(std::uint64_t bell) {
  State& s = *state_;
  if (s.shared) return s.shared;
  const std::size_t fit = kRoomFloats / std::max<std::size_t>(1, block_floats());
  const int room = static_cast<int>(std::min<std::size_t>(kWorkersWithRoom, fit));
  const int places = std::max({s.settings.workers, members(), room}) + 3;
  auto segment = ShardSegment::Create(block_floats(), static_cast<std::uint32_t>(places), bell);
  if (!segment.ok()) return segment.status();
  s.shared = *segment;
  s.pool = std::make_unique<BlockPool>(block_floats(), s.shared);
  s.is_out = true;
  (void)s.Renewed();
  return segment;
}

std::vector<Shard::Answer> Shard::TakeAnswers() { return std::exchange(state_->answers, {}); }

bool Shard::empty() const { return state_->empty; }
const std::string& Shard::spec() const { return state_->spec_text; }
std::uint64_t Shard::version() const { return state_->version; }
std::span<const float> Shard::center() const {
  return state_->center ? state_->Trained() : std::span<const float>();
}
PartRange Shard::range() const { return state_->range; }
std::size_t Shard::block_floats() const { return state_->range.count + state_->statistics; }
int Shard::members() const { return state_->Members(); }
bool Shard::IsMember(std::uint64_t worker) const {
  const auto found = state_->workers.find(worker);
  return found != state_->workers.end() && found->second.member;
}

}  // namespace murmurate
