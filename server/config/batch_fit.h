// FitBatches: makes a model's trajectories fit a message, and its batches the memory that they may
// take, before anything is made for the model, and says what its stores take. The spaces of the model come from the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/config/model_settings.h"

namespace murmurate {

/// All batches of one model together may take 1 GiB.
inline constexpr std::size_t kMostBatchBytes = std::size_t{1} << 30;

/// Halves T until a trajectory takes at most `most_trajectory_bytes`, then the number of
/// trajectories in a batch until all batches of the model (experience_channel.h) take at most
/// kMostBatchBytes. What is bounded by T or by the batch (minibatch, burn_in, the threads of a
/// recurrent model) is reduced, too. The value: the sentence for the log, "" when nothing had to
/// change. kInvalidArgument, with `settings` untouched, when not even one step fits.
Result<std::string> FitBatches(const std::string& model, std::size_t most_trajectory_bytes,
                               ModelSettings* settings);

/// Bytes that the stores of its learning threads take of their own (AlgorithmKind::store_bytes).
std::uint64_t StoreBytes(const ModelSettings& settings);
/// kResource: those are more than the machine has left.
Status CheckStoresFit(const std::string& model, const ModelSettings& settings);

}  // namespace murmurate
