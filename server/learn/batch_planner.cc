#include "server/learn/batch_planner.h"

#include <algorithm>
#include <utility>

#include "server/learn/algorithm.h"
#include "server/learn/order_slots.h"
#include "shared/core/check.h"

namespace murmurate {

int LanesOf(const ModelSpec& spec, const AlgorithmSettings& settings) {
  return spec.recurrent() ? std::max(1, settings.minibatch / settings.trajectory_length) : 0;
}

BatchPlanner::BatchPlanner(const ModelSpec& spec, const AlgorithmSettings& settings,
                           std::uint64_t seed)
    : settings_(settings),
      lanes_(LanesOf(spec, settings)),
      burn_in_(lanes_ > 0 ? settings.burn_in : 0),
      random_(seed) {
  const auto rows = static_cast<std::size_t>(settings.batch_steps);
  const std::size_t slots = rows / static_cast<std::size_t>(settings.trajectory_length);
  const auto epochs = static_cast<std::size_t>(settings.epochs);
  const std::size_t most = lanes_ > 0 ? slots : rows;
  const auto piece = static_cast<std::size_t>(lanes_ > 0 ? lanes_ : settings.minibatch);
  plan_.slots.reserve(slots);
  plan_.rows.reserve(rows);
  plan_.order.reserve(most * epochs);
  plan_.updates.reserve((most + piece - 1) / piece * epochs);
  plan_.most_kl = 1.5 * settings.target_kl;
  plan_.one_pass = settings.kind->prepares && settings.epochs == 1 &&
                   settings.minibatch >= settings.batch_steps && burn_in_ == 0;
  all_.reserve(most);
  after_.reserve(epochs);
}

const BatchPlan& BatchPlanner::Plan(const TrainingBatch& batch, const Rates& rates,
                                    std::uint64_t learned_steps, double rate_factor) {
  plan_.learning_rate = rate_factor * rates.learning_rate.At(learned_steps);
  plan_.clip = static_cast<float>(rates.clip.At(learned_steps));
  plan_.entropy = static_cast<float>(rates.entropy.At(learned_steps));
  plan_.scores = batch.samples == TrainingBatch::Samples::kHeldOut;
  plan_.order.clear();
  plan_.updates.clear();
  after_.clear();
  OrderRows(batch);
  if (plan_.rows.empty()) return plan_;
  if (plan_.one_pass) {
    plan_.order.assign(all_.begin(), all_.end());
    plan_.updates.push_back({.first = 0, .count = all_.size()});
    plan_.updates_a_pass = 1;
    return plan_;
  }
  const Random before = random_;
  for (int pass = 0; pass < (plan_.scores ? 1 : settings_.epochs); ++pass) AddPass(all_);
  plan_.updates_a_pass = plan_.updates.size() / after_.size();
  if (plan_.scores) random_ = before;
  return plan_;
}

std::unique_ptr<Planner> MakeBatchPlanner(const ModelSpec& spec, const AlgorithmSettings& settings,
                                          std::uint64_t seed) {
  return std::make_unique<BatchPlanner>(spec, settings, seed);
}

void BatchPlanner::OrderRows(const TrainingBatch& batch) {
  OrderSlots(batch, &plan_.slots);
  plan_.rows.clear();
  all_.clear();
  for (const int slot : plan_.slots) {
    const int steps = batch.trajectories[slot].steps;
    for (int step = burn_in_; step < steps; ++step) {
      const std::int32_t row = slot * batch.length + step;
      if (batch.weight[row] > 0.0f) plan_.rows.push_back(row);
    }
    if (lanes_ > 0 && steps > burn_in_) all_.push_back(slot);
  }
  if (lanes_ == 0) all_.assign(plan_.rows.begin(), plan_.rows.end());
}

void BatchPlanner::AddPass(std::vector<std::int32_t>& all) {
  for (std::size_t i = all.size() - 1; i > 0; --i)
    std::swap(all[i], all[random_.UniformInt(static_cast<std::uint32_t>(i + 1))]);
  const auto most = static_cast<std::size_t>(lanes_ > 0 ? lanes_ : settings_.minibatch);
  const std::size_t begin = plan_.order.size();
  plan_.order.insert(plan_.order.end(), all.begin(), all.end());
  // Pieces of nearly equal size: a last one of a few rows would be a step in a random direction.
  for (std::size_t first = 0; first < all.size();) {
    const std::size_t left = all.size() - first, pieces = (left + most - 1) / most;
    plan_.updates.push_back({.first = begin + first, .count = left / pieces});
    first += left / pieces;
  }
  after_.push_back(random_);
}

void BatchPlanner::Began(std::size_t updates) {
  if (plan_.scores || after_.empty() || updates == 0) return;
  random_ = after_[(updates - 1) / plan_.updates_a_pass];
}

Status BatchPlanner::Load(const StateReader& reader) {
  Random::Words saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("random", saved));
  random_.GoOnFrom(saved);
  return {};
}

}  // namespace murmurate
