// The sink for TensorBoard: an event file a life of the learner, in the folder of the model.
//
//   a row        one event: each number of the row under its name, x = environment steps
//   histograms   with a row: what came since the last ones, first every 5 s and later every minute,
//                and at the end; one of several has its label behind its name
//                ("actor/staleness/a-1")
//   at first     the configuration as a text ("config"), and the settings for the page HPARAMS
//
// A row takes about 30 bytes a number and 16 bytes a bucket of a histogram; of metrics with labels
// the first kMostHistograms are written. A resumed run cuts off what a lost life wrote behind the
// environment steps it goes on from, and marks its beginning, so that a TensorBoard that runs drops
// it too. An event has no other step count: rows of as many environment steps and of more trained
// steps stay.
#pragma once

#include "server/metrics/metric_sink.h"

namespace murmurate {

inline constexpr int kMostHistograms = 16;  ///< of a row

Result<std::unique_ptr<MetricSink>> OpenTensorBoardFile(const SinkTarget& target);

}  // namespace murmurate
