#include "server/experience/pieces.h"

#include <algorithm>

namespace murmurate {
namespace {

/// Steps [begin, end) of a trajectory, as one of its own. Its episodes come with the first piece;
/// only that one has the state and the frames it began with.
TrajectoryView PieceOf(const TrajectoryView& view, const TrajectoryLayout& layout, int begin,
                       int end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  const std::size_t row = layout.row_bytes();
  const auto truncated = [&](int from, int to) {
    return static_cast<std::size_t>(
        std::count_if(view.flags.begin() + from, view.flags.begin() + to,
                      [](std::uint8_t flags) { return (flags & kTruncatedFlag) != 0; }));
  };
  const auto part = [&](auto column, std::size_t width) {
    return column.empty() ? column : column.subspan(first * width, count * width);
  };
  TrajectoryView piece = view;
  piece.first_step = view.first_step + first;
  piece.steps = end - begin;
  piece.changes.Clear();
  view.changes.EachRun(view.steps, [&](std::uint64_t later, int from, int) {
    if (from <= begin) piece.version = view.version + later;
    if (from > begin && from < end)
      (void)piece.changes.Add(static_cast<std::uint64_t>(from - begin),
                              view.version + later - piece.version);
  });
  piece.observation = part(view.observation, row);
  piece.action = part(view.action, static_cast<std::size_t>(layout.action.words()));
  piece.log_prob = part(view.log_prob, 1);
  piece.reward = part(view.reward, 1);
  piece.flags = part(view.flags, 1);
  piece.mask = part(view.mask, static_cast<std::size_t>(layout.action.mask_bytes()));
  piece.final_observation =
      view.final_observation.subspan(truncated(0, begin) * row, truncated(begin, end) * row);
  if (end < view.steps)
    piece.next_observation = view.observation.subspan(static_cast<std::size_t>(end) * row, row);
  if (begin > 0) piece.episodes = {};
  return piece;
}

bool HasRoomFor(const TrainingBatch& batch, const TrajectoryView& view) {
  const std::size_t row = batch.layout.row_bytes();
  const std::size_t finals = batch.final_row.size() + view.final_observation.size() / row;
  return !batch.full() && finals * row <= batch.final_observation.size_bytes();
}

}  // namespace

int AddInPieces(const TrajectoryView& view, TrainingBatch* batch) {
  const bool divides = batch->layout.state_floats == 0 && batch->layout.frames == 0;
  int added = 0, slots = 0;
  for (; added < view.steps && (slots == 0 || divides); ++slots) {
    const int end = std::min(added + batch->length, view.steps);
    const bool whole = added == 0 && end == view.steps;
    const TrajectoryView piece = whole ? view : PieceOf(view, batch->layout, added, end);
    if (!HasRoomFor(*batch, piece)) break;
    if (!batch->Add(piece)) {
      if (slots == 0) return -1;
      break;
    }
    added = end;
  }
  if (slots == 0) batch->AddEpisodes(view.episodes);
  batch->extra_slots += slots - 1;
  return added;
}

std::uint64_t MoveInPieces(const TrainingBatch& from, TrainingBatch* to) {
  std::uint64_t left_out = 0;
  for (int slot = 0; slot < static_cast<int>(from.trajectories.size()); ++slot) {
    const TrajectoryView view = from.View(slot);
    left_out += static_cast<std::uint64_t>(view.steps - AddInPieces(view, to));
  }
  AddLooseEpisodes(from, to);
  to->extra_slots += from.extra_slots;
  return left_out;
}

}  // namespace murmurate
