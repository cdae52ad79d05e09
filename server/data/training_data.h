// TrainingData: what a run learns from instead of actors: the source that [data] names.
#pragma once

#include <memory>

#include "server/data/data_settings.h"
#include "server/data/data_source.h"

namespace murmurate {

/// `game`: its spaces, where the run names one that is known here; null: what the files say.
/// Opens and checks the files; they stay open as long as the source lives. Null when none are
/// given. In one sentence: two files of one name that holdout_path cannot both hold, and one that
/// is learned from and scored.
Result<std::shared_ptr<DataSource>> OpenData(const DataSettings& settings,
                                             const Spaces* game = nullptr);

}  // namespace murmurate
