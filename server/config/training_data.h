// TrainingData: what a run learns from instead of actors: [data] in words, and the source it names.
#pragma once

#include <memory>
#include <string>

#include "server/data/array_source.h"
#include "server/data/data_feed.h"
#include "server/data/data_source.h"

namespace murmurate {

struct DataSettings {
  std::string recording;  ///< a folder of recorded trajectories
  ArrayFiles arrays;
  int passes = 1, threads = 1;
  double holdout = 0.0;
  std::string holdout_path;  ///< a folder: recordings, or arrays of the same names; "": none
  FeedPart part;             ///< of several learners
  bool given() const { return !recording.empty() || !arrays.observations.empty(); }
};

/// Opens and checks the files; they stay open as long as the source lives. Null when none are
/// given. In one sentence: two files of one name that holdout_path cannot both hold, and one that
/// is learned from and scored.
Result<std::shared_ptr<DataSource>> OpenData(const DataSettings& settings);

}  // namespace murmurate
