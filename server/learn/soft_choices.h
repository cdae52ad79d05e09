// Soft actor-critic for actions of choices (soft_choices.cc says what it learns); sac.cc is the same
// for actions of numbers, and describes both.
#pragma once

#include <memory>

#include "server/learn/algorithm.h"

namespace murmurate {

/// `spec`: a policy and its critics (TwinCritics::AddTo), whose actions are choices alone.
std::unique_ptr<Algorithm> MakeSoftChoices(const ModelSpec& spec,
                                           const AlgorithmSettings& settings);

}  // namespace murmurate
