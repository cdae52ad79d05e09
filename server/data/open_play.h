// OpenPlay: recorded play in a folder: the segments of a recording (recording_source.h), or episodes
// in arrays (episode_source.h) where it has an observations.npy.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/data/data_source.h"

namespace murmurate {

/// `game`: the spaces that episodes in arrays are of; null: what the arrays themselves say.
Result<std::unique_ptr<DataSource>> OpenPlay(const std::string& folder, const Spaces* game);

}  // namespace murmurate
