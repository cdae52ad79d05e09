#include "server/daemon/make_checkpoint.h"

#include <algorithm>

#include "server/config/config_text.h"

namespace murmurate {

CheckpointWriter::Make MakerOf(const Config& config, const ModelSpec& spec,
                               std::shared_ptr<const Snapshot> snapshot, StepCount steps) {
  return [&config, &spec, snapshot = std::move(snapshot), steps] {
    Checkpoint checkpoint{{spec, snapshot->version, steps.learned, {}}};
    checkpoint.environment_steps = steps.taken;
    const AlignedFloats& from = snapshot->parameters;
    checkpoint.weights.parameters = AlignedFloats(from.size());
    std::copy(from.begin(), from.end(), checkpoint.weights.parameters.begin());
    for (const ConfigLine& line : Explain(config)) checkpoint.settings[line.path] = line.value;
    return checkpoint;
  };
}

}  // namespace murmurate
