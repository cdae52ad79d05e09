// Evaluation: what frozen weights came to without exploration; never mixed with training's returns.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "server/experience/step_count.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

using EpisodeList = std::deque<EpisodeRecord>;

/// How many of the last episodes a mean is over.
inline constexpr std::size_t kEpisodeWindow = 100;

/// Keeps the last kEpisodeWindow of them.
void AppendToWindow(const EpisodeRecord& episode, EpisodeList* window);

/// Who has played what an evaluation is the mean of.
enum class EvaluatedBy : std::uint8_t {
  kLearner,  ///< its thread mmr-evaluate
  kShare,    ///< actors, as evaluation.share asks them
  kGame,     ///< actors, as their game asks: Mode(kEvaluate)
};

struct Evaluation {
  std::uint64_t steps = 0;    ///< environment steps taken when these weights were made
  std::uint64_t version = 0;  ///< 0: of several
  std::size_t episodes = 0;
  double mean_return = 0, deviation = 0, mean_length = 0;  ///< deviation: of these n episodes
  std::optional<double> success_rate = {};  ///< of those that say whether they succeeded
  std::uint64_t learned_steps = 0;  ///< from which they were made: their checkpoint's number
  EvaluatedBy by = EvaluatedBy::kLearner;

  StepCount made_after() const { return {learned_steps, steps}; }
};

std::string StepsInWords(const StepCount& steps);  ///< "1,000 steps (900 learned from)"

/// The share of successes among the episodes that say; empty when none does.
std::optional<double> SuccessRate(const EpisodeList& episodes);

/// Half the width of the 95 % confidence interval of the mean return, by the normal approximation:
/// 1.96 s / sqrt(n), s^2 the sample variance (n - 1). Empty for one episode, which has no variance.
std::optional<double> MarginOf(const Evaluation& evaluation);

/// The evaluation of at least one episode; steps and version are the caller's.
Evaluation EvaluationOf(const EpisodeList& episodes);

}  // namespace murmurate
