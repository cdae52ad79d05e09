// The list of algorithms.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/learn/algorithm.h"

namespace murmurate {

/// All of them; the first is the default.
std::span<const AlgorithmKind* const> Algorithms();

/// Adds one of a program's own at the end of the list, as tests do: before the first config is
/// read, by one thread. It is never destroyed.
void AddAlgorithm(const AlgorithmKind& kind);

/// Null when there is none.
const AlgorithmKind* AlgorithmNamed(std::string_view name);

/// The first that has a property; there must be one.
const AlgorithmKind& FirstAlgorithm(bool AlgorithmKind::*property);

/// Into `report`, what the algorithm's metrics make of its sums.
void ReportMetrics(const AlgorithmKind& kind, const AlgorithmSums& sums, LearnReport* report);

/// The algorithms' names in the order of the list.
std::vector<std::string> AlgorithmNames();

}  // namespace murmurate
