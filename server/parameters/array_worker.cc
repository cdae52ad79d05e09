#include "server/parameters/array_worker.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/remote_worker.h"
#include "server/parameters/rule_question.h"
#include "server/parameters/rule_text.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/wire/limits.h"

namespace murmurate {
namespace {

constexpr int kAskPollMs = 50;
constexpr std::int64_t kSaySilenceNs = 1'000'000'000;

Status UnderWay() {
  return Unavailable("an exchange is under way; call wait until it is finished, then this");
}

std::int64_t DeadlineAfter(std::int64_t timeout_ns) {
  if (timeout_ns < 0) return INT64_MAX;
  const std::int64_t now_ns = MonotonicNs();
  return timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
}

/// The norm of all gradients as if they lay one behind the other.
double NormOf(std::span<const std::span<const float>> gradients) {
  double squares = 0.0;
  for (const std::span<const float> gradient : gradients) squares += SumOfSquares(gradient);
  return std::sqrt(squares);
}

}  // namespace

struct ArrayWorker::State {
  enum class Request { kNone, kPull, kExchange };

  State(std::vector<std::string> addresses, std::vector<NamedArray> arrays,
        std::vector<std::span<float>> floats, ArrayWorkerOptions given)
      : shards(std::move(addresses)), memory(std::move(floats)), options(std::move(given)) {
    spec.arrays = std::move(arrays);
    for (const std::span<float> array : memory)
      optimizers.push_back(MakeOptimizer(options.optimizer, array.size()));
  }

  FloatParts<float> parts() const { return FloatParts<float>(std::span(memory)); }
  const RuleSettings& rule() const { return settings.shard.rule; }
  Status Ready() const;
  Status CheckGradients(std::span<const std::span<const float>> gradients) const;
  /// Asks for the rule; true when it is known.
  bool KnowsRule(std::int64_t deadline_ns);
  void MakeWorker(const std::string& rule_text);
  void SayUnasked(std::int64_t now_ns);
  Status AddToWindow(std::span<const std::span<const float>> gradients, float* scale);
  void StepLocally(std::span<const std::span<const float>> gradients, double rate, float scale);
  void LookAhead();
  void Begin(int steps);
  bool Finish();
  void CountExchange();

  const std::vector<std::string> shards;
  const std::vector<std::span<float>> memory;
  const ArrayWorkerOptions options;
  ModelSpec spec;
  RemoteSettings settings;                             ///< valid with `worker`
  std::vector<std::unique_ptr<Optimizer>> optimizers;  ///< of local steps, one for each array
  std::unique_ptr<RuleQuestion> question;
  std::unique_ptr<RemoteWorker> worker;  ///< null: the rule is not known
  Request request = Request::kNone;
  int in_window = 0;
  double rate = 0.0;
  Status failure;  ///< final
  std::atomic<bool> interrupted{false};
  std::atomic<RemoteWorker*> interruptible{nullptr};
  std::int64_t silent_since_ns = 0;
  ArrayReport report;
  ExchangeSums sums;
};

Status ArrayWorker::State::Ready() const {
  if (!failure.ok()) return failure;
  if (interrupted) return Unavailable("it was interrupted; make another worker");
  if (request != Request::kNone) return UnderWay();
  return {};
}

Status ArrayWorker::State::CheckGradients(std::span<const std::span<const float>> gradients) const {
  if (gradients.size() != memory.size())
    return InvalidArgument("got " + std::to_string(gradients.size()) + " gradients, expected " +
                           std::to_string(memory.size()) + ", one for each array");
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].size() != memory[i].size())
      return InvalidArgument("the gradient of \"" + spec.arrays[i].name + "\" has " +
                             std::to_string(gradients[i].size()) + " numbers, expected " +
                             std::to_string(memory[i].size()) + ", as many as the array");
  return {};
}

void ArrayWorker::State::SayUnasked(std::int64_t now_ns) {
  if (silent_since_ns == 0) silent_since_ns = now_ns;
  if (now_ns - silent_since_ns < kSaySilenceNs || !report.waits.empty()) return;
  report.waits = "waiting for shard 0 (" + shards.front() +
                 "), which has never answered; start it with `murmurate params CONFIG --shard 0`";
  if (options.log) options.log(LogLevel::kWarning, report.waits);
}

bool ArrayWorker::State::KnowsRule(std::int64_t deadline_ns) {
  while (!worker) {
    const std::int64_t now_ns = MonotonicNs();
    const std::int64_t left_ms = (deadline_ns - std::min(deadline_ns, now_ns)) / 1'000'000;
    const auto answer =
        question->Poll(static_cast<int>(std::min<std::int64_t>(kAskPollMs, left_ms)));
    if (answer && !answer->ok()) {
      failure = answer->status();
      return false;
    }
    if (answer) {
      MakeWorker((*answer)->rule);
      return failure.ok();
    }
    if (interrupted || MonotonicNs() >= deadline_ns) return false;
    SayUnasked(now_ns);
  }
  return true;
}

void ArrayWorker::State::MakeWorker(const std::string& rule_text) {
  auto parsed = ParseRuleText(rule_text);
  if (!parsed.ok()) {
    failure = parsed.status();
    return;
  }
  settings.shard = *std::move(parsed);
  settings.rule_text = rule_text;
  settings.shards = shards;
  settings.worker = options.worker;
  settings.max_grad_norm = options.max_grad_norm;
  settings.overlap = options.overlap;
  settings.share_from_bytes = options.share_from_bytes;
  report.rule = rule();
  report.waits.clear();
  RemoteCallbacks callbacks;
  callbacks.log = options.log;
  callbacks.failed = [this](const Status& status) { failure = status; };
  callbacks.waits = [this](const std::optional<ShardWait>& wait) {
    report.waits = wait ? wait->sentence : "";
  };
  worker = std::make_unique<RemoteWorker>(settings, options.model, spec, std::move(callbacks));
  interruptible = worker.get();
  if (interrupted) worker->wait().Interrupt();
}

/// Nothing is pushed if they are not finite.
Status ArrayWorker::State::AddToWindow(std::span<const std::span<const float>> gradients,
                                       float* scale) {
  const bool clips = options.max_grad_norm > 0.0 && settings.shard.max_grad_norm == 0.0;
  const bool as_it_is = PushesGradient(rule()) && in_window == 0 && !clips;
  const FloatParts<const float> parts(gradients);
  const double norm = as_it_is ? worker->CopyGradient(parts) : NormOf(gradients);
  if (!std::isfinite(norm))
    return InvalidArgument(
        "a gradient holds a number that is not finite, so nothing was pushed; lower the learning "
        "rate, or clip what makes it");
  *scale = clips ? ClipFactor(norm, options.max_grad_norm) : 1.0f;
  if (PushesGradient(rule()) && !as_it_is) worker->AddGradient(parts, *scale, in_window);
  return {};
}

void ArrayWorker::State::StepLocally(std::span<const std::span<const float>> gradients,
                                     double step_rate, float scale) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    optimizers[i]->Step(static_cast<float>(step_rate), scale, gradients[i], memory[i]);
}

void ArrayWorker::State::LookAhead() {
  for (std::size_t i = 0; i < memory.size(); ++i) optimizers[i]->LookAhead(memory[i]);
}

void ArrayWorker::State::Begin(int steps) {
  worker->Begin(rate, steps, parts());
  worker->KeepLocalSteps(parts());
  in_window = 0;
  request = Request::kExchange;
}

void ArrayWorker::State::CountExchange() {
  const ExchangeSums last = worker->PopSums();
  sums.answers += last.answers;
  sums.staleness += last.staleness;
  report.pushes += last.exchanges;
  report.late += last.late > 0 ? 1 : 0;
  report.staleness = last.answers > 0 ? last.staleness / static_cast<double>(last.answers) : 0.0;
  report.staleness_max = std::max(report.staleness_max, last.staleness_max);
  report.staleness_mean =
      sums.answers > 0 ? sums.staleness / static_cast<double>(sums.answers) : 0.0;
}

bool ArrayWorker::State::Finish() {
  const bool pulls = request == Request::kPull;
  const bool done = pulls ? worker->Pull(parts()) : worker->Finish(parts());
  report.wait_s += worker->wait().PopSeconds();
  if (!done) return false;
  request = Request::kNone;
  report.joined = true;
  report.version = worker->Versions().front();
  report.kept = worker->Kept();
  if (pulls) return true;
  CountExchange();
  if (StepsLocally(rule())) LookAhead();
  return true;
}

Result<std::unique_ptr<ArrayWorker>> ArrayWorker::Open(const std::vector<std::string>& shards,
                                                       std::vector<NamedArray> arrays,
                                                       std::vector<std::span<float>> memory,
                                                       ArrayWorkerOptions options) {
  if (shards.empty()) return InvalidArgument("no address of a shard was given");
  MURMURATE_RETURN_IF_ERROR(CheckArrays(arrays));
  MURMURATE_CHECK(arrays.size() == memory.size(), "each array has memory");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    MURMURATE_CHECK(memory[i].size() == arrays[i].count(), "an array's memory has its size");
    for (const float value : memory[i])
      if (!std::isfinite(value))
        return InvalidArgument("the array \"" + arrays[i].name +
                               "\" holds a number that is not finite");
  }
  if (ArrayListText(arrays).size() > wire::kMaxArrayList)
    return InvalidArgument("the names of the arrays are too long together; use shorter ones");
  auto state =
      std::make_unique<State>(shards, std::move(arrays), std::move(memory), std::move(options));
  state->question =
      std::make_unique<RuleQuestion>(shards.front(), state->options.model, shards.size());
  return std::unique_ptr<ArrayWorker>(new ArrayWorker(std::move(state)));
}

ArrayWorker::ArrayWorker(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArrayWorker::~ArrayWorker() = default;

Status ArrayWorker::Pull() {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.Ready());
  s.request = State::Request::kPull;
  if (!s.worker) return {};
  s.worker->wait().SetDeadline(0);
  (void)s.Finish();  // sends the request
  return s.failure;
}

Status ArrayWorker::Push(std::span<const std::span<const float>> gradients, double learning_rate) {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.Ready());
  if (!s.worker || !s.worker->started()) return Unavailable("pull the arrays first, and wait");
  MURMURATE_RETURN_IF_ERROR(s.CheckGradients(gradients));
  if (!(learning_rate >= 0.0 && learning_rate <= 1e6))
    return InvalidArgument("learning rate: expected a number from 0 to a million");
  float scale = 1.0f;
  MURMURATE_RETURN_IF_ERROR(s.AddToWindow(gradients, &scale));
  if (StepsLocally(s.rule())) s.StepLocally(gradients, learning_rate, scale);
  s.rate = learning_rate;
  if (++s.in_window >= s.rule().window)
    s.Begin(s.in_window);
  else if (StepsLocally(s.rule()))
    s.LookAhead();
  return s.failure;
}

Status ArrayWorker::Exchange(int steps) {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.Ready());
  if (!s.worker || !s.worker->started()) return Unavailable("pull the arrays first, and wait");
  if (steps < 0)
    return InvalidArgument("got " + std::to_string(steps) + " steps, expected 0 or more");
  if (PushesGradient(s.rule()) && s.in_window == 0)
    return InvalidArgument(std::string("the rule ") + TextOf(s.rule().name) +
                           " pushes gradients, and none was given since the last exchange; push "
                           "one, or start the shards with a rule in delta form");
  const int count = PushesGradient(s.rule()) ? s.in_window : std::max(1, s.in_window + steps);
  s.Begin(count);
  return s.failure;
}

Result<bool> ArrayWorker::Wait(std::int64_t timeout_ns) {
  State& s = *state_;
  if (!s.failure.ok()) return s.failure;
  if (s.request == State::Request::kNone) return true;
  const std::int64_t deadline_ns = DeadlineAfter(timeout_ns);
  bool done = false;
  if (s.KnowsRule(deadline_ns)) {
    s.worker->wait().SetDeadline(deadline_ns);
    done = s.Finish();
  }
  if (!s.failure.ok()) return s.failure;
  if (!done && s.interrupted) return Unavailable("it was interrupted");
  return done;
}

bool ArrayWorker::under_way() const { return state_->request != State::Request::kNone; }

ArrayReport ArrayWorker::Report() const { return state_->report; }

void ArrayWorker::Interrupt() {
  state_->interrupted = true;
  if (state_->question) state_->question->Wake();
  if (RemoteWorker* const worker = state_->interruptible) worker->wait().Interrupt();
}

}  // namespace murmurate
