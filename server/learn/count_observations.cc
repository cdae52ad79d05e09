#include "server/learn/count_observations.h"

#include "server/network/actor_critic.h"

namespace murmurate {

void CountObservations(const ModelSpec& spec, const TrainingBatch& batch, const BatchPlan& plan,
                       std::span<float> parameters) {
  if (!spec.normalize_observation || batch.samples == TrainingBatch::Samples::kReplayed) return;
  const auto length = static_cast<std::size_t>(batch.length);
  const std::size_t width = batch.layout.row_words();
  for (const int slot : plan.slots) {
    UpdateObservationStatistics(spec, batch.observation.data() + slot * length * width,
                                batch.weight.subspan(slot * length, length), parameters);
  }
}

}  // namespace murmurate
