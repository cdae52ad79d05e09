#include "server/learn/passes_and_targets.h"

#include <array>

#include "shared/core/check.h"

namespace murmurate {

PassesAndTargets::PassesAndTargets(const ModelSpec& spec, const AlgorithmSettings& settings,
                                   std::uint64_t seed)
    : BatchPlanner(spec, settings, seed),
      target_every_(static_cast<std::uint64_t>(settings.target_every)) {
  planned().target_part = static_cast<float>(settings.target_part);
}

const BatchPlan& PassesAndTargets::Plan(const TrainingBatch& batch, const Rates& rates,
                                        std::uint64_t learned_steps, double rate_factor) {
  (void)BatchPlanner::Plan(batch, rates, learned_steps, rate_factor);
  std::uint64_t number = updates_;
  for (PlannedUpdate& update : planned().updates)
    update.moves_targets = ++number % target_every_ == 0;
  return plan();
}

void PassesAndTargets::Began(std::size_t updates) {
  BatchPlanner::Began(updates);
  updates_ += updates;
}

void PassesAndTargets::Save(const StateWriter& writer) const {
  BatchPlanner::Save(writer);
  writer.Words("updates", std::array{updates_});
}

Status PassesAndTargets::Load(const StateReader& reader) {
  std::array<std::uint64_t, 1> saved;
  MURMURATE_RETURN_IF_ERROR(BatchPlanner::Load(reader));
  MURMURATE_RETURN_IF_ERROR(reader.Words("updates", saved));
  updates_ = saved[0];
  return {};
}

}  // namespace murmurate
