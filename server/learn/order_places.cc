#include "server/learn/order_places.h"

#include <algorithm>
#include <utility>

namespace murmurate {

void OrderPlaces(const TrainingBatch& batch, std::vector<int>* places) {
  const auto& trajectories = batch.trajectories;
  places->clear();
  for (int place = 0; place < static_cast<int>(trajectories.size()); ++place) {
    const auto first = batch.weight.begin() + static_cast<std::ptrdiff_t>(place) *
                                                  static_cast<std::ptrdiff_t>(batch.length);
    if (std::any_of(first, first + trajectories[place].steps, [](float w) { return w > 0.0f; }))
      places->push_back(place);
  }
  std::sort(places->begin(), places->end(), [&](int a, int b) {
    return std::pair(trajectories[a].agent, trajectories[a].first_step) <
           std::pair(trajectories[b].agent, trajectories[b].first_step);
  });
}

}  // namespace murmurate
