#include "server/parameters/remote_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/remote_worker.h"
#include "shared/core/check.h"

namespace murmurate {

struct RemoteStore::State {
  State(const RemoteSettings& given, const std::string& model, const ModelSpec& spec,
        RemoteCallbacks callbacks)
      : settings(given),
        rule(given.shard.rule),
        layout(spec),
        optimizer(MakeOptimizer(given.optimizer, layout,
                                {0, StepsLocally(rule) ? layout.trained_count() : 0})),
        worker(given, model, spec, std::move(callbacks)) {}

  bool Pull(std::span<float> parameters);
  void Exchange(double learning_rate, std::span<float> parameters);

  const RemoteSettings settings;
  const RuleSettings rule;
  const ParameterLayout layout;
  std::unique_ptr<Optimizer> optimizer;
  RemoteWorker worker;
  bool loaded = false;
  int in_window = 0;
  double rate = 0.0;
  std::uint64_t updates = 0, local_steps = 0, wasted = 0;
};

bool RemoteStore::State::Pull(std::span<float> parameters) {
  if (!worker.started() && !loaded) worker.statistics().Begin(parameters);  // initialize_from
  return worker.Pull(parameters.first(layout.trained_count()));
}

void RemoteStore::State::Exchange(double learning_rate, std::span<float> parameters) {
  // Overlapped gradients were taken before the answer that comes in now; a round's stamp is its
  // own.
  const bool earlier = PushesGradient(rule) && !IsSynchronous(rule.name);
  const std::vector<std::uint64_t> taken_at =
      earlier ? worker.Versions() : std::vector<std::uint64_t>();
  if (worker.under_way() && !worker.Finish(parameters)) return;
  const double pushed_rate =
      settings.server_rate > 0.0 ? settings.server_rate * settings.rate_factor : learning_rate;
  worker.Begin(pushed_rate, in_window, parameters, taken_at);
  in_window = 0;
  if (!settings.overlap)
    (void)worker.Finish(parameters);
  else
    worker.KeepLocalSteps(parameters);
}

RemoteStore::RemoteStore(const RemoteSettings& settings, const std::string& model,
                         const ModelSpec& spec, RemoteCallbacks callbacks)
    : state_(std::make_unique<State>(settings, model, spec, std::move(callbacks))) {}

RemoteStore::~RemoteStore() = default;

bool RemoteStore::BeginBatch(std::span<float> parameters) {
  State& s = *state_;
  RemoteWorker& worker = s.worker;
  if (worker.wait().failed() || worker.wait().interrupted()) return false;
  worker.heartbeat().EndWait();
  // Rounds went on without it: a gradient at what it has now would come too late for each.
  const bool left_out = worker.heartbeat().PopLongWait() && IsSynchronous(s.rule.name) &&
                        worker.started() && !worker.under_way() && s.in_window == 0;
  if (!worker.started() || left_out) (void)s.Pull(parameters);
  return worker.started();
}

double RemoteStore::Step(double base_rate, std::span<const float> gradient,
                         std::span<float> parameters) {
  State& s = *state_;
  const double learning_rate = base_rate * s.settings.rate_factor;
  const bool clips = s.settings.max_grad_norm > 0.0 && s.settings.shard.max_grad_norm == 0.0;
  const bool failed = s.worker.wait().failed();
  const bool as_it_is = PushesGradient(s.rule) && s.in_window == 0 && !clips && !failed;
  const double norm = as_it_is ? s.worker.CopyGradient(gradient) : Norm(gradient);
  if (!std::isfinite(norm) || failed) return norm;
  const float scale = clips ? ClipFactor(norm, s.settings.max_grad_norm) : 1.0f;
  if (PushesGradient(s.rule) && !as_it_is) s.worker.AddGradient(gradient, scale, s.in_window);
  if (StepsLocally(s.rule)) {
    s.optimizer->Step(static_cast<float>(learning_rate), scale, gradient, parameters);
    ++s.local_steps;
    if (s.rule.form == PushForm::kElastic &&
        learning_rate * norm * scale <= s.worker.elastic_norm())
      ++s.wasted;
  }
  ++s.updates;
  s.rate = learning_rate;
  if (++s.in_window >= s.rule.window) s.Exchange(learning_rate, parameters);
  if (StepsLocally(s.rule)) s.optimizer->LookAhead(parameters);
  return norm;
}

std::span<float> RemoteStore::ObservationsSeen(std::span<float> parameters) {
  const std::span<float> own = state_->worker.statistics().own();
  return own.empty() ? parameters : own;
}

void RemoteStore::ShareReturns(const Moments& own) {
  state_->worker.statistics().ShareReturns(own);
}

std::optional<Moments> RemoteStore::PopReturns() {
  return state_->worker.statistics().PopReturns();
}

void RemoteStore::EndBatch(std::span<float> parameters) {
  State& s = *state_;
  if (s.rule.window == kWholeBatch && s.in_window > 0)
    s.Exchange(s.rate, parameters.first(s.layout.trained_count()));
  if (s.worker.pushes() > 0) s.worker.statistics().WriteSeen(parameters);
  s.worker.heartbeat().BeginWait();
}

void RemoteStore::Refresh(std::span<float> /*parameters*/) { state_->worker.heartbeat().EndWait(); }

void RemoteStore::EndScoring() {
  if (state_->worker.started()) state_->worker.heartbeat().BeginWait();
}

void RemoteStore::Save(const StateWriter& writer) const {
  if (StepsLocally(state_->rule)) state_->optimizer->Save(writer);
  state_->worker.statistics().Save(writer);
}

Status RemoteStore::Load(const StateReader& reader) {
  if (StepsLocally(state_->rule)) MURMURATE_RETURN_IF_ERROR(state_->optimizer->Load(reader));
  state_->loaded = true;
  return {};  // what was seen before counts at the shard already, under another sender
}

std::uint64_t RemoteStore::updates() const { return state_->updates; }

ExchangeReport RemoteStore::CollectReport() {
  const ExchangeSums sums = state_->worker.PopSums();
  const auto wasted = static_cast<double>(std::exchange(state_->wasted, 0));
  const auto mean = [](double sum, std::uint64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0.0;
  };
  return {.exchanges = sums.exchanges,
          .late = sums.late,
          .staleness_mean = mean(sums.staleness, sums.answers),
          .staleness_max = sums.staleness_max,
          .distance_mean = mean(sums.distance, sums.answers),
          .wait_s = state_->worker.wait().PopSeconds(),
          .wasted_share = mean(wasted, std::exchange(state_->local_steps, 0)),
          .rate_factor = state_->settings.rate_factor};
}

void RemoteStore::Interrupt() { state_->worker.wait().Interrupt(); }

}  // namespace murmurate
