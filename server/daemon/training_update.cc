#include "server/daemon/training_update.h"

#include <algorithm>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// Of the time since the model was made; of the agents' own time for actors.
void CountWaits(const ExperienceChannel& channel, TrainingUpdate* update) {
  const double lived_ns =
      static_cast<double>(std::max<std::int64_t>(1, update->at_ns - channel.since_ns));
  const double waited_ns = static_cast<double>(channel.learner_waited_ns.load()) / channel.learners;
  update->lived_s = lived_ns * 1e-9;
  update->waited_s = waited_ns * 1e-9;
  update->learner_wait = waited_ns / lived_ns;
  update->ingest_wait = static_cast<double>(channel.ingest_waited_ns.load()) / lived_ns;
  const std::uint64_t played_ns = channel.actors_played_ns.load();
  if (played_ns > 0)
    update->actor_wait =
        static_cast<double>(channel.actors_waited_ns.load()) / static_cast<double>(played_ns);
}

}  // namespace

TrainingUpdate ToUpdate(const std::string& model, ExperienceChannel& channel,
                        const LearnReport& report, StepCount steps, std::int64_t now_ns) {
  TrainingUpdate update;
  update.model = model;
  update.at_ns = now_ns;
  update.environment_steps = steps.taken;
  update.learned_steps = steps.learned;
  update.dropped_steps = channel.dropped_steps.load();
  update.late_steps = report.late_steps + channel.refused_late_steps.exchange(0);
  update.trained_steps = report.trained_steps;
  update.updates = report.updates;
  update.version = report.version;
  update.policy_loss = report.policy_loss;
  update.value_loss = report.value_loss;
  update.entropy = report.entropy;
  update.approx_kl = report.approx_kl;
  update.lag_kl = report.lag_kl;
  update.clip_fraction = report.clip_fraction;
  update.explained_variance = report.explained_variance;
  update.grad_norm = report.grad_norm;
  update.learning_rate = report.learning_rate;
  update.clip_range = report.clip_range;
  update.staleness_mean = report.staleness_mean;
  update.staleness_max = report.staleness_max;
  CountWaits(channel, &update);
  update.loss = report.loss;
  update.accuracy = report.accuracy;
  update.error = report.error;
  update.eval_rows = report.eval_rows;
  update.eval_loss = report.eval_loss;
  update.eval_accuracy = report.eval_accuracy;
  update.held_out = report.held_out;
  if (const ExchangeReport& exchange = report.exchange; exchange.exchanges > 0) {
    update.exchange_staleness = exchange.staleness_mean;
    update.exchange_staleness_max = exchange.staleness_max;
    update.exchange_distance = exchange.distance_mean;
    update.exchange_wait_s = exchange.wait_s;
    update.exchange_late = static_cast<double>(exchange.late);
    update.exchange_wasted = exchange.wasted_share;
  }
  update.episodes = report.episodes;
  return update;
}

}  // namespace murmurate
