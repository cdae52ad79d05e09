#include "server/operate/evaluation.h"

#include <algorithm>
#include <cmath>

namespace murmurate {

Evaluation EvaluationOf(const EpisodeList& episodes) {
  const double count = static_cast<double>(episodes.size());
  double sum = 0, squares = 0, length = 0;
  for (const EpisodeRecord& episode : episodes) {
    sum += episode.raw_return;
    length += episode.length;
  }
  for (const EpisodeRecord& episode : episodes)
    squares += (episode.raw_return - sum / count) * (episode.raw_return - sum / count);
  return {.episodes = episodes.size(),
          .mean_return = sum / count,
          .deviation = std::sqrt(squares / count),
          .mean_length = length / count};
}

}  // namespace murmurate
