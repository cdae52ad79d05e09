#include "server/replay/kept_steps.h"

#include "server/replay/sample_form.h"

namespace murmurate {

KeptSteps::KeptSteps(const ReplaySettings& settings, const TrajectoryLayout& layout,
                     std::uint64_t seed, BlockCursor block, bool places)
    : rows_(layout, ReplayRoom(layout, settings.capacity), block),
      windows_(SampleForm(settings), &rows_),
      sampler_(settings, seed, &rows_, &windows_, block),
      chunk_copy_(SampleForm(settings), layout, &rows_) {
  if (places) rows_.places().NoteWritten();
}

std::size_t KeptSteps::BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout) {
  BlockCursor measure;
  const ReplayRows rows(layout, ReplayRoom(layout, settings.capacity), measure);
  const Sampler sampler(settings, 0, &rows, nullptr, measure);
  return measure.used();
}

std::uint64_t KeptSteps::Keep(const TrajectoryView& view) {
  MakeRoomFor(view);
  const auto closed = [this](std::uint64_t row) { sampler_.Closed(row); };
  if (const auto ended = rows_.Ends(view)) windows_.Ended(*ended, closed);
  const std::uint64_t chunk = rows_.Insert(view), first = rows_.At(chunk).first_row;
  sampler_.Inserted(first, static_cast<std::uint64_t>(view.steps));
  windows_.Added(chunk, closed);
  return first;
}

void KeptSteps::MakeRoomFor(const TrajectoryView& view) {
  const std::uint64_t oldest = rows_.first_row();
  rows_.MakeRoomFor(view);
  const std::uint64_t evicted = rows_.first_row() - oldest;
  windows_.Evicted(oldest, evicted);
  sampler_.Evicted(oldest, evicted);
}

}  // namespace murmurate
