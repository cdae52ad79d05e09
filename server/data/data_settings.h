// DataSettings: [data], what a run learns from instead of actors; and the keys of [record], what it
// keeps of them.
#pragma once

#include <optional>
#include <string>

#include "server/data/array_source.h"
#include "server/data/data_feed.h"
#include "server/data/example_data.h"
#include "server/data/segment_writer.h"

namespace murmurate {

template <typename S>
class Keys;

struct DataSettings {
  std::string recording;  ///< a folder of recorded trajectories
  ArrayFiles arrays;
  std::optional<ExampleData> example;  ///< the two arrays are made of it where they are missing
  int passes = 10, threads = 1;
  double holdout = 0.0;
  std::string holdout_path;  ///< a folder: recordings, or arrays of the same names; "": none
  bool divide = true;        ///< each of several learners reads a part of its own
  FeedPart part;             ///< of several learners
  bool given() const { return !recording.empty() || !arrays.observations.empty(); }
};

const Keys<DataSettings>& DataKeys();
const Keys<RecordingSettings>& RecordKeys();

}  // namespace murmurate
