// The sink of a model's parameters: event files for TensorBoard in the folder parameters/ of the
// model, a run of its own there. A row, and the end of the run, write a histogram of each tensor
// when a checkpoint has come since the last one (parameter_histograms.h), x = environment steps;
// about 600 bytes a tensor. It reads the checkpoint from the disk, so that learning has no part in
// it. A resumed run cuts off what is there of the steps it goes on from and of later ones, marks its
// beginning, and writes the newest checkpoint at these steps.
#pragma once

#include "server/metrics/metric_sink.h"

namespace murmurate {

Result<std::unique_ptr<MetricSink>> OpenParameterFile(const SinkTarget& target);

}  // namespace murmurate
