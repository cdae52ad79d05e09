// TopPicture: a run in so many columns and rows. It is a pure function: what terminals add lies in
// terminal_frame.h and terminal.h.
#pragma once

#include <vector>

#include "server/top/top_snapshot.h"

namespace murmurate {

inline constexpr char kTopKeys[] = "q ends  m shows the next model";

/// At most `size.rows` lines, none wider than `size.columns`, from 1 x 1 on. Where room is short,
/// the head, the summary and who waits for whom stay longest; tables are cut with a line that says
/// how much is missing; the curve takes what is left. `keys`: below, "" for none.
std::vector<TopLine> TopPicture(const TopSnapshot& snapshot, TopSize size, Glyphs glyphs,
                                const char* keys = kTopKeys);

}  // namespace murmurate
