// RecordingFiles: the segment files of a recording: FOLDER/MODEL-000001.traj, ordered by number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct SegmentFile {
  std::string path, model;
  std::uint64_t number = 0, bytes = 0;
};

/// Those in `folder`, by model and number; other files are passed over. None when there is no such
/// folder.
std::vector<SegmentFile> ListSegments(const std::string& folder);
std::string SegmentPath(const std::string& folder, const std::string& model, std::uint64_t number);

}  // namespace murmurate
