#include "server/parameters/collective_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include "server/parameters/local_store.h"
#include "server/parameters/observation_sum.h"
#include "server/parameters/processor_choice.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/sha256.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

void AppendWord(std::uint64_t word, std::vector<float>* values) {
  values->resize(values->size() + kWordFloats);
  WriteWord(word, std::span(*values).last<kWordFloats>());
}

std::uint64_t WordAt(const float* values) {
  return ReadWord(std::span<const float, kWordFloats>(values, kWordFloats));
}

/// The numbers behind a sum of gradients: how many ranks have one, the sum of their rates,
/// and rank 0's rate.
enum Turn : std::size_t { kActive, kRates, kFirstRate, kTurn };

/// A hash of what must be alike on all ranks, to the last bit.
std::string Description(const ModelSpec& spec, const CollectiveSettings& settings) {
  const OptimizerSettings& o = settings.optimizer;
  std::ostringstream text;
  text << std::hexfloat << spec.ToText() << static_cast<int>(o.name) << ' '
       << settings.max_grad_norm << ' ' << settings.normalize_reward;
  for (const auto& [name, word] : kOptimizerNames)
    for (const float number : NumbersOf(o, name)) text << ' ' << number;
  return ToHex(Sha256(text.str()));
}

}  // namespace

Status BroadcastState(Collective& collective, SavedState* state) {
  std::vector<float> values;
  for (const auto& [name, floats] : state->floats)
    values.insert(values.end(), floats.begin(), floats.end());
  for (const auto& [name, doubles] : state->doubles)
    for (const double number : doubles) AppendWord(std::bit_cast<std::uint64_t>(number), &values);
  for (const auto& [name, words] : state->words)
    for (const std::uint64_t word : words) AppendWord(word, &values);
  MURMURATE_RETURN_IF_ERROR(Broadcast(collective, values));
  const float* at = values.data();
  for (auto& [name, floats] : state->floats) {
    std::copy_n(at, floats.size(), floats.begin());
    at += floats.size();
  }
  for (auto& [name, doubles] : state->doubles)
    for (double& number : doubles) {
      number = std::bit_cast<double>(WordAt(at));
      at += kWordFloats;
    }
  for (auto& [name, words] : state->words)
    for (std::uint64_t& word : words) {
      word = WordAt(at);
      at += kWordFloats;
    }
  return {};
}

struct CollectiveStore::State {
  State(CollectiveJob* given_job, const CollectiveSettings& given, const ModelSpec& spec,
        CollectiveCallbacks given_callbacks)
      : job(given_job),
        layout(spec),
        trained(layout.trained_count()),
        description(Description(spec, given)),
        patience_ns(given.patience_ns),
        callbacks(std::move(given_callbacks)),
        local(MakeOptimizer(given.optimizer, layout, {0, trained}), given.max_grad_norm),
        statistics(layout.statistics.count + (given.normalize_reward ? kMomentFloats : 0)),
        sum(trained + kTurn),
        processor(job, [this](LogLevel level, std::string_view line) {
          if (!told && callbacks.log) callbacks.log(level, line);
        }) {}

  Collective& collective() { return job->collective(); }
  bool Went(const Status& status);
  bool Sums(std::span<float> values, std::uint64_t step = RankMeeting::kEnd);
  std::optional<AgreedBatch> Agree(float updates, double learning_rate);
  bool Start(std::span<float> parameters);
  bool SameModel();
  bool SumRound(double learning_rate, std::span<const float> gradient);
  double StepByMean(std::span<float> parameters);
  void MergeStatistics(std::span<float> parameters);
  void TellOver();
  void Join();
  void Leave();

  CollectiveJob* const job;
  const ParameterLayout layout;
  const std::size_t trained;
  const std::string description;
  const std::int64_t patience_ns;
  const CollectiveCallbacks callbacks;
  LocalStore local;
  const std::size_t statistics;  ///< floats of each rank: of observations, then of returns
  AlignedFloats sum;             ///< of gradients, then their mean; and kTurn numbers more
  AlignedFloats own;             ///< the whole block, of which the statistics count
  AlignedFloats seen;            ///< the statistics of every rank, one after the other
  Moments own_returns;
  std::optional<Moments> all_returns;  ///< since PopReturns
  AlignedFloats staged;  ///< what to start the others with, when interrupted before the first batch
  bool started = false, told = false;
  ProcessorChoice processor;
  std::uint64_t step = 0;  ///< sums of gradients in this batch
  float own_rate = 0.0f;
  std::uint64_t rounds = 0;
  std::int64_t waited_ns = 0;
  std::atomic<bool> interrupted{false};
};

bool CollectiveStore::State::Went(const Status& status) {
  if (job->Went(status)) return true;
  if (!std::exchange(told, true) && callbacks.failed) callbacks.failed(job->failure());
  return false;
}

bool CollectiveStore::State::Sums(std::span<float> values, std::uint64_t meeting) {
  if (!job->failure().ok()) return false;
  const std::int64_t begin_ns = MonotonicNs();
  const Status status = job->SumAll(values, {job->batches(), meeting});
  waited_ns += MonotonicNs() - begin_ns;
  return Went(status);
}

bool CollectiveStore::State::SameModel() {
  const auto first = BroadcastText(collective(), description);
  if (!Went(first.status())) return false;
  std::array<float, 1> others{*first == description ? 0.0f : 1.0f};
  if (!Sums(others)) return false;
  if (others[0] == 0.0f) return true;
  return Went(InvalidArgument(
      "the ranks have different models: " + std::to_string(static_cast<int>(others[0])) + " of " +
      std::to_string(job->size()) +
      " have other spaces, [model] or [optimizer] than rank 0; start all with the same config"));
}

/// Gives all ranks rank 0's model. The statistics that it begins with are counted by rank 0 alone.
bool CollectiveStore::State::Start(std::span<float> parameters) {
  if (!SameModel()) return false;
  SavedState state;
  local.Save(StateWriter(&state, "optimizer"));
  if (!Went(Broadcast(collective(), parameters)) || !Went(BroadcastState(collective(), &state)) ||
      !Went(local.Load(StateReader(state, "optimizer"))))
    return false;
  if (own.size() > 0 && job->rank() == 0)
    std::copy_n(parameters.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset),
                layout.statistics.count,
                own.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset));
  if (statistics > layout.statistics.count && job->rank() == 0) all_returns.emplace();
  started = true;
  return Went(processor.Choose());
}

/// Every rank tells how many updates it has, and one more than that, so that 0 is a rank that leaves the
/// batch out.
std::optional<AgreedBatch> CollectiveStore::State::Agree(float updates, double learning_rate) {
  const auto rank = static_cast<std::size_t>(job->rank()),
             size = static_cast<std::size_t>(job->size());
  if (updates > 1.0f) own_rate = static_cast<float>(learning_rate);
  std::vector<float> told_by_all(2 * size);
  told_by_all[rank] = updates;
  told_by_all[size + rank] = own_rate;
  if (!Sums(told_by_all, 0)) return std::nullopt;
  AgreedBatch agreed{.learning_rate = told_by_all[size]};
  double rates = 0.0, active = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    if (told_by_all[i] == 0.0f) return std::nullopt;
    agreed.updates = std::max(agreed.updates, static_cast<std::uint64_t>(told_by_all[i]) - 1);
    if (told_by_all[i] == 1.0f) continue;
    rates += told_by_all[size + i];
    active += 1.0;
  }
  // Rank 0 may not have had a step yet.
  if (agreed.learning_rate == 0.0 && active > 0.0) agreed.learning_rate = rates / active;
  rounds += agreed.updates;
  return agreed;
}

/// Sums the gradients into `sum`; an empty `gradient`: none from here. False: no rank had one.
bool CollectiveStore::State::SumRound(double learning_rate, std::span<const float> gradient) {
  const bool has = !gradient.empty();
  if (has) own_rate = static_cast<float>(learning_rate);
  std::fill(sum.begin(), sum.end(), 0.0f);
  std::copy(gradient.begin(), gradient.end(), sum.begin());
  float* const turn = sum.data() + trained;
  turn[kActive] = has ? 1.0f : 0.0f;
  turn[kRates] = has ? own_rate : 0.0f;
  turn[kFirstRate] = job->rank() == 0 ? own_rate : 0.0f;
  if (!Sums(sum, ++step) || turn[kActive] == 0.0f) return false;
  ++rounds;
  return true;
}

/// Steps by the mean; returns its norm before it was clipped.
double CollectiveStore::State::StepByMean(std::span<float> parameters) {
  const std::span<float> mean(sum.data(), trained);
  const float* const turn = sum.data() + trained;
  const float active = turn[kActive];
  // Rank 0 may not have had a step yet.
  const float rate = turn[kFirstRate] > 0.0f ? turn[kFirstRate] : turn[kRates] / active;
  if (active > 1.0f)
    for (float& value : mean) value /= active;
  return local.Step(rate, mean, parameters);
}

void CollectiveStore::State::MergeStatistics(std::span<float> parameters) {
  if (statistics == 0) return;
  const std::size_t count = layout.statistics.count;
  std::fill(seen.begin(), seen.end(), 0.0f);
  const auto mine = std::span<float>(seen).subspan(job->rank() * statistics, statistics);
  if (count > 0)
    std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(layout.statistics.offset), count,
                mine.begin());
  if (statistics > count) WriteMoments(own_returns, mine.subspan(count));
  if (!Sums(seen)) return;
  std::vector<std::span<const float>> observed, returned;
  for (int i = 0; i < job->size(); ++i) {
    const auto part = std::span<const float>(seen).subspan(i * statistics, statistics);
    observed.push_back(part.first(count));
    returned.push_back(part.subspan(count));
  }
  if (!parameters.empty())
    SumObservations(layout, observed, parameters.subspan(layout.statistics.offset, count));
  if (statistics > count) all_returns = SumMoments(returned);
}

/// Tells that another rank wants to stop.
void CollectiveStore::State::TellOver() {
  if (!std::exchange(told, true) && callbacks.over) callbacks.over();
}

/// Takes part in a batch of the other ranks without steps of its own.
void CollectiveStore::State::Join() {
  if (!started && !Start(staged)) return;
  if (processor.joined()) return (void)Agree(0.0f, 0.0);
  while (SumRound(0.0, {})) continue;
  if (job->failure().ok()) MergeStatistics({});
}

void CollectiveStore::State::Leave() {
  while (!job->over())
    if (job->Vote(true) == CollectiveJob::Decision::kNextBatch) Join();
}

CollectiveStore::CollectiveStore(CollectiveJob* job, const CollectiveSettings& settings,
                                 const ModelSpec& spec, CollectiveCallbacks callbacks)
    : state_(std::make_shared<State>(job, settings, spec, std::move(callbacks))) {
  State& s = *state_;
  if (s.layout.statistics.count > 0) s.own = AlignedFloats(s.layout.total);
  s.seen = AlignedFloats(s.statistics * static_cast<std::size_t>(s.job->size()));
  s.staged = AlignedFloats(s.layout.total);
  job->watch().SayTo([log = s.callbacks.log](const std::string& sentence) {
    if (log) log(LogLevel::kWarning, sentence);
  });
}

void CollectiveStore::OfferProcessor(RankProcessor* processor, std::string why_not) {
  state_->processor.Offer(processor, std::move(why_not));
}

bool CollectiveStore::steps_elsewhere() const { return state_->processor.joined(); }

std::optional<AgreedBatch> CollectiveStore::AgreeOnBatch(std::uint64_t updates,
                                                         double learning_rate) {
  const auto agreed = state_->Agree(static_cast<float>(updates + 1), learning_rate);
  if (!agreed) state_->TellOver();
  return agreed;
}

RankWatch& CollectiveStore::watch() { return state_->job->watch(); }
std::uint64_t CollectiveStore::batches() const { return state_->job->batches(); }

CollectiveStore::~CollectiveStore() {
  state_->told = true;  // the learner that would be told goes, too
  state_->processor.Offer(nullptr, "this rank has ended");
  state_->job->watch().SayTo(nullptr);
  state_->job->AtTheEnd([state = state_] { state->Leave(); });
}

bool CollectiveStore::BeginBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.interrupted) return false;
  const std::int64_t begin_ns = MonotonicNs();
  const auto decision = s.job->Vote(false, &s.interrupted, s.patience_ns);
  s.waited_ns += MonotonicNs() - begin_ns;
  s.step = 0;
  if (decision == CollectiveJob::Decision::kNextBatch) return s.started || s.Start(parameters);
  if (decision == CollectiveJob::Decision::kFailed) (void)s.Went(s.job->failure());
  if (decision == CollectiveJob::Decision::kOver) s.TellOver();
  if (!s.started) std::copy(parameters.begin(), parameters.end(), s.staged.begin());
  return false;
}

double CollectiveStore::Step(double learning_rate, std::span<const float> gradient,
                             std::span<float> parameters) {
  if (!state_->SumRound(learning_rate, gradient)) return std::numeric_limits<double>::quiet_NaN();
  return state_->StepByMean(parameters);
}

std::span<float> CollectiveStore::ObservationsSeen(std::span<float> parameters) {
  return state_->own.size() > 0 ? std::span<float>(state_->own) : parameters;
}

void CollectiveStore::ShareReturns(const Moments& own) { state_->own_returns = own; }

std::optional<Moments> CollectiveStore::PopReturns() {
  return std::exchange(state_->all_returns, std::nullopt);
}

void CollectiveStore::EndBatch(std::span<float> parameters) {
  State& s = *state_;
  const auto local = parameters.first(s.trained);
  while (!s.processor.joined() && s.SumRound(0.0, {})) s.StepByMean(local);
  if (s.job->failure().ok()) s.MergeStatistics(parameters);
}

void CollectiveStore::Save(const StateWriter& writer) const { state_->local.Save(writer); }
Status CollectiveStore::Load(const StateReader& reader) { return state_->local.Load(reader); }
std::uint64_t CollectiveStore::updates() const { return state_->local.updates(); }

ExchangeReport CollectiveStore::CollectReport() {
  return {.exchanges = std::exchange(state_->rounds, 0),
          .wait_s = 1e-9 * static_cast<double>(std::exchange(state_->waited_ns, 0))};
}

void CollectiveStore::Interrupt() { state_->interrupted = true; }

}  // namespace murmurate
