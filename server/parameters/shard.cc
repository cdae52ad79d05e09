#include "server/parameters/shard.h"

#include <algorithm>
#include <new>
#include <utility>

#include "server/metrics/number_text.h"
#include "server/parameters/moments.h"
#include "server/parameters/shard_state.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kFloatsInALine = 16;
constexpr char kSection[] = "shard";
constexpr int kWorkersWithRoom = 16;                       ///< when blocks are small
constexpr std::size_t kRoomFloats = std::size_t{4} << 20;  ///< 16 MiB, for more than are expected

std::string Number(double value) { return FormatNumber("%.9g", value); }

/// The optimizer's name and its numbers.
std::string OptimizerText(const OptimizerSettings& settings) {
  std::string text = TextOf(settings.name);
  for (const float number : NumbersOf(settings, settings.name)) text += ' ' + Number(number);
  return text;
}

}  // namespace

std::string ShardSettings::ToText() const {
  return std::string("rule ") + TextOf(rule.name) + ", form " + TextOf(rule.form) + ", window " +
         std::to_string(rule.window) + ", elastic " + Number(rule.elastic) + ", adag_scale " +
         Number(rule.adag_scale) + ", backup " + std::to_string(backup) + ", max_staleness " +
         std::to_string(max_staleness) + ", optimizer " + OptimizerText(optimizer) +
         ", max_grad_norm " + Number(max_grad_norm) +
         (normalize_reward ? ", normalize_reward" : "");
}

std::size_t ShardSettings::StatisticsOf(const ParameterLayout& layout) const {
  return layout.statistics.count + (normalize_reward ? kMomentFloats : 0);
}

PartRange RangeOf(std::size_t trained, int index, int of) {
  const std::size_t lines = (trained + kFloatsInALine - 1) / kFloatsInALine;
  const auto border = [&](int i) {
    const std::size_t at = lines * static_cast<std::size_t>(i) / static_cast<std::size_t>(of);
    return std::min(trained, at * kFloatsInALine);
  };
  return {border(index), border(index + 1) - border(index)};
}

Shard::Shard(const ShardSettings& settings, int index, int of, LogCallback log)
    : state_(std::make_unique<State>(settings, index, of, std::move(log))) {}
Shard::~Shard() = default;

Result<wire::Joined> Shard::Join(std::uint64_t worker, const wire::Join& join,
                                 std::int64_t now_ns) try {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.CheckJoin(join, now_ns));
  const bool is_another = join.spec != s.spec_text || !s.workers.Contains(worker);
  if (!s.spec_text.empty() && is_another && s.MayBeReplaced(now_ns)) s.Forget();
  if (s.spec_text.empty()) MURMURATE_RETURN_IF_ERROR(s.Build(join.spec));
  if (s.workers.IsTaken(join.worker, worker, now_ns))
    return Status(StatusCode::kAlreadyRunning,
                  "there is a worker " + std::to_string(join.worker) +
                      " already; give each learner a number of its own (parameters.worker)");
  for (const std::uint64_t dropped : s.workers.Succeed(worker, join.worker))
    std::erase(s.arrivals, dropped);
  const ShardWorker& entry = s.workers.Join(worker, join, s.loaded, now_ns);
  if (join.step > 1) s.begun = true;  // it has learned with others before this shard was started
  const bool begins = s.empty && s.workers.MayBegin(entry, now_ns);
  const std::uint64_t step = entry.pending ? entry.pending->step : entry.step;
  return wire::Joined{s.version, range().begin, range().count, begins, step};
} catch (const std::bad_alloc&) {
  return ResourceError("the shard has no memory for the worker's model; give it more shards");
}

Status Shard::OnPush(std::uint64_t id, const wire::Push& push, std::span<const float> block,
                     std::int64_t now_ns) {
  State& s = *state_;
  ShardWorker* const worker = s.workers.Find(id);
  if (worker == nullptr || !worker->member)
    return {StatusCode::kUnavailable, "this worker is no member; it has to join"};
  worker->heard_ns = now_ns;
  worker->waiting = false;
  if (block.size() != block_floats() && !block.empty())
    return InvalidArgument("expected a block of " + std::to_string(block_floats()) +
                           " floats, got " + std::to_string(block.size()));
  const bool known = push.step != 0 && (push.step <= worker->step || worker->pending);
  if (known && !s.empty) {  // its block is not looked at: it may be another's by now
    s.AnswerAgain(id, push);
    return {};
  }
  const bool counts = !block.empty() && s.seen->count() > 0;
  if (counts && !s.seen->Receive(block.subspan(range().count), worker)) return s.NotFinite(push);
  Status status = s.Accept(id, push, block, now_ns);
  if (status.ok() && push.step > 0) ++s.pushes;
  // guard: AnyRule.APushThatIsRefusedLeavesWhatItsWorkerHadSeenAsItWas: the statistics of a refused
  //   push are put back
  if (!status.ok() && counts) s.seen->PutBack(worker);
  return status;
}

void Shard::OnAlive(std::uint64_t id, bool waiting, std::int64_t now_ns) {
  ShardWorker* const worker = state_->workers.Find(id);
  if (worker == nullptr) return;
  worker->heard_ns = now_ns;
  worker->waiting = waiting && !worker->pending;
}

void Shard::OnBye(std::uint64_t id, std::int64_t now_ns) {
  ShardWorker* const worker = state_->workers.Find(id);
  if (worker == nullptr) return;
  state_->workers.Leave(*worker, LogLevel::kInfo, "has left");
  worker->left = true;
  worker->heard_ns = now_ns;
  worker->elastic.reset();  // it does not come back
  Tick(now_ns);
}

void Shard::Tick(std::int64_t now_ns) {
  State& s = *state_;
  s.workers.LeaveSilent(now_ns);
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
  const bool all_came = s.workers.NeverCame() == 0 || now_ns - heard_ns >= kAwaitsReturnNs;
  return all_left && all_came ? Use::kLeft : Use::kUsed;
}

/// Enough slots for the center, the next one, an answer that each worker reads, and one more.
/// Where they cost little, also for workers that are not expected.
Result<std::shared_ptr<ShardSegment>> Shard::ShareAnswers(std::uint64_t wakeup) {
  const std::size_t fit = kRoomFloats / std::max<std::size_t>(1, block_floats());
  const int room = static_cast<int>(std::min<std::size_t>(kWorkersWithRoom, fit));
  const int slots = std::max({state_->settings.workers, members(), room}) + 3;
  return state_->center->ShareAnswers(static_cast<std::uint32_t>(slots), wakeup);
}

std::vector<Shard::Answer> Shard::PopAnswers() { return std::exchange(state_->answers, {}); }

std::string Shard::Waits() const {
  const State& s = *state_;
  std::string who, whom;
  const auto add = [](std::string* to, std::uint32_t number) {
    *to += (to->empty() ? "" : ", ") + std::to_string(number);
  };
  const std::uint64_t slowest = s.workers.Slowest();
  for (const auto& [id, worker] : s.workers)
    if (worker.awaits_beginning && worker.member) add(&who, worker.number);
  if (!who.empty()) return "worker " + who + " waits for the parameters of worker 0";
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

void Shard::Save(SavedState* state) const {
  const State& s = *state_;
  const StateWriter writer(state, kSection);
  s.workers.Save(writer, s.seen->observations());
  const std::uint64_t numbers[] = {s.version, s.begun ? 1u : 0u};
  writer.Words("version", numbers);
  s.center->Save(state, writer);
}

Status Shard::Load(const SavedState& state, const std::string& spec) {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.Build(spec));
  const StateReader reader(state, kSection);
  MURMURATE_RETURN_IF_ERROR(s.workers.Load(reader, s.seen->observations(), s.seen->count()));
  std::uint64_t numbers[2];
  MURMURATE_RETURN_IF_ERROR(reader.Words("version", numbers));
  MURMURATE_RETURN_IF_ERROR(s.center->Load(state, reader));
  s.version = s.first_version = numbers[0];
  // guard: ShardTest.ARunThatAllHadLeftWaitsForAllAgain: a barrier that all workers had left waits
  //   for all again
  s.begun = numbers[1] != 0 && s.workers.members() > 0;
  s.empty = false;
  s.loaded = true;
  s.seen->MarkOld();
  return {};
}

void Shard::Kept(const SavedState& state) { state_->workers.Kept(StateReader(state, kSection)); }

bool Shard::empty() const { return state_->empty; }
const std::string& Shard::spec() const { return state_->spec_text; }
std::uint64_t Shard::version() const { return state_->version; }

std::uint64_t Shard::merges() const { return state_->version - state_->first_version; }

std::uint64_t Shard::pushes() const { return state_->pushes; }

std::uint64_t Shard::merged() const { return state_->merged; }
std::span<const float> Shard::center() const {
  return state_->center ? state_->center->trained() : std::span<const float>();
}
PartRange Shard::range() const { return state_->center ? state_->center->range() : PartRange(); }
std::size_t Shard::block_floats() const {
  return state_->center ? state_->center->block_floats() : 0;
}
int Shard::members() const { return state_->workers.members(); }
bool Shard::IsMember(std::uint64_t id) const {
  const ShardWorker* const worker = std::as_const(state_->workers).Find(id);
  return worker != nullptr && worker->member;
}

}  // namespace murmurate
