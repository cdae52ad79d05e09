#include "server/learn/order_slots.h"

#include <algorithm>
#include <utility>

namespace murmurate {

void OrderSlots(const TrainingBatch& batch, std::vector<int>* slots) {
  const auto& trajectories = batch.trajectories;
  slots->clear();
  for (int slot = 0; slot < static_cast<int>(trajectories.size()); ++slot) {
    const auto first = batch.weight.begin() + static_cast<std::ptrdiff_t>(slot) *
                                                  static_cast<std::ptrdiff_t>(batch.length);
    if (std::any_of(first, first + trajectories[slot].steps, [](float w) { return w > 0.0f; }))
      slots->push_back(slot);
  }
  std::sort(slots->begin(), slots->end(), [&](int a, int b) {
    return std::pair(trajectories[a].agent, trajectories[a].first_step) <
           std::pair(trajectories[b].agent, trajectories[b].first_step);
  });
}

}  // namespace murmurate
