// MakerOf: what a learning thread hands over when a checkpoint is due. The snapshot is never
// changed again, so it is copied into the checkpoint by the thread that writes.
#pragma once

#include <memory>

#include "server/config/config.h"
#include "server/experience/step_count.h"
#include "server/operate/checkpoint_writer.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// Named by what was learned from. `config` and `spec` must outlive the writing.
CheckpointWriter::Make MakerOf(const Config& config, const ModelSpec& spec,
                               std::shared_ptr<const Snapshot> snapshot, StepCount steps);

}  // namespace murmurate
