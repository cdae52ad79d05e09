#include "server/operate/evaluation.h"

#include <algorithm>
#include <cmath>

#include "server/metrics/number_text.h"

namespace murmurate {

std::string StepsInWords(const StepCount& steps) {
  return WithCommas(steps.taken) + " steps (" + WithCommas(steps.learned) + " learned from)";
}

void AppendToWindow(const EpisodeRecord& episode, EpisodeList* window) {
  window->push_back(episode);
  if (window->size() > kEpisodeWindow) window->pop_front();
}

std::optional<double> SuccessRate(const EpisodeList& episodes) {
  const auto said = std::ranges::count_if(episodes, [](auto& e) { return e.success != 0; });
  const auto yes = std::ranges::count_if(episodes, [](auto& e) { return e.success == 2; });
  if (said == 0) return std::nullopt;
  return static_cast<double>(yes) / static_cast<double>(said);
}

std::optional<double> MarginOf(const Evaluation& evaluation) {
  constexpr double kNormalQuantile = 1.959964;  // of 0.975
  if (evaluation.episodes < 2) return std::nullopt;
  return kNormalQuantile * evaluation.deviation /
         std::sqrt(static_cast<double>(evaluation.episodes - 1));
}

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
          .mean_length = length / count,
          .success_rate = SuccessRate(episodes)};
}

}  // namespace murmurate
