// TopSections: the parts of the picture of a run, each for itself, as wide as there is room.
#pragma once

#include <vector>

#include "server/top/top_snapshot.h"

namespace murmurate {

/// Who it is: one line.
TopLine HeadLine(const TopSnapshot& snapshot, int width);
/// The numbers of the shown model, those that matter most first.
std::vector<TopLine> SummaryLines(const TopSnapshot& snapshot, int width);
/// A table each; no line where there is nothing of the kind. Models: where there are several.
std::vector<TopLine> ModelLines(const TopSnapshot& snapshot, int width);
std::vector<TopLine> ShardLines(const TopSnapshot& snapshot, int width);
std::vector<TopLine> StreamLines(const TopSnapshot& snapshot, int width);
std::vector<TopLine> ActorLines(const TopSnapshot& snapshot, int width);
/// Who waits for whom, since when and why, and what does not go as it should; or that nothing does.
std::vector<TopLine> WaitLines(const TopSnapshot& snapshot, int width);

}  // namespace murmurate
