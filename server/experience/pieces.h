// Trajectories in batches of another T than they were played with: while clients follow a change of
// T, and of clients that do not.
#pragma once

#include <cstdint>

#include "server/experience/training_batch.h"

namespace murmurate {

/// Adds a trajectory of any length to a batch that is not full: one of more than T steps in several
/// slots, each with T steps of it. What finds no room is left out, and of models with states or
/// frame stacks, whose states inside a trajectory are not known, all but its first T steps. The
/// steps added; -1: an observation does not pass CheckObservations, and nothing was added.
int AddInPieces(const TrajectoryView& view, TrainingBatch* batch);

/// Moves what `from` holds to an empty batch of another shape. The steps that found no room.
std::uint64_t MoveInPieces(const TrainingBatch& from, TrainingBatch* to);

}  // namespace murmurate
