#include "server/experience/training_batch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

template <typename T>
void CopyTo(T* destination, std::span<const T> source) {
  if (!source.empty()) std::memcpy(destination, source.data(), source.size_bytes());
}

void CopyRows(float* destination, std::span<const std::byte> rows) {
  if (!rows.empty()) std::memcpy(destination, rows.data(), rows.size());
}

/// A column this large has left the cache by the time it is learned from.
constexpr std::size_t kBeyondCacheBytes = 512u << 10;

constexpr int kBatchColumns = 12;

/// Bytes of each column, in the order of the block.
std::array<std::size_t, kBatchColumns> ColumnBytes(const TrajectoryLayout& layout,
                                                   int trajectories) {
  const auto count = static_cast<std::size_t>(trajectories);
  const std::size_t rows = count * static_cast<std::size_t>(layout.length);
  const std::size_t finals = count * static_cast<std::size_t>(layout.max_finals);
  const std::size_t row = layout.row_bytes(), number = sizeof(float);
  return {rows * row,
          rows * static_cast<std::size_t>(layout.action.words()) * sizeof(std::int32_t),
          rows * number,
          rows * number,
          rows,
          rows * number,
          rows * static_cast<std::size_t>(layout.action.mask_bytes()),
          count * static_cast<std::size_t>(layout.state_floats) * number,
          count * static_cast<std::size_t>(layout.frames) * row,
          count * row,
          finals * row,
          finals * sizeof(std::int32_t)};
}

std::size_t WithBorder(std::size_t bytes) {
  return (bytes + BatchMemory::kBorder - 1) / BatchMemory::kBorder * BatchMemory::kBorder;
}

}  // namespace

double BatchTrajectory::MeanAge(std::uint64_t now) const {
  double sum = 0.0;
  changes.EachRun(steps, [&](std::uint64_t later, int begin, int end) {
    sum += static_cast<double>(now - version - later) * (end - begin);
  });
  return sum / steps;
}

std::size_t BatchBlockBytes(const TrajectoryLayout& layout, int trajectories) {
  std::size_t bytes = 0;
  for (const std::size_t column : ColumnBytes(layout, trajectories)) bytes += WithBorder(column);
  return bytes;
}

std::size_t TrainingBatch::BytesFor(const TrajectoryLayout& layout, int trajectories) {
  return BatchBlockBytes(layout, trajectories) +
         static_cast<std::size_t>(trajectories) *
             (sizeof(BatchTrajectory) +
              static_cast<std::size_t>(layout.max_episodes) * sizeof(EpisodeRecord));
}

TrainingBatch::TrainingBatch(const TrajectoryLayout& trajectory_layout, int trajectory_count,
                             BatchMemory& memory)
    : layout(trajectory_layout),
      capacity(trajectory_count),
      length(layout.length),
      block_(memory, BatchBlockBytes(layout, capacity)) {
  MURMURATE_CHECK(capacity >= 1, "a batch holds at least one trajectory");
  std::byte* at = block_.bytes().data();
  const auto sizes = ColumnBytes(layout, capacity);
  auto size = sizes.begin();
  const auto assign_column = [&]<typename T>(std::span<T>& column) {
    column = {reinterpret_cast<T*>(at), *size / sizeof(T)};
    at += WithBorder(*size++);
  };
  assign_column(observation);
  assign_column(action);
  assign_column(log_prob);
  assign_column(reward);
  assign_column(flags);
  assign_column(weight);
  assign_column(mask);
  assign_column(state0);
  assign_column(frames0);
  assign_column(next_observation);
  assign_column(final_observation);
  assign_column(final_row);
  final_row = final_row.first(0);
  std::ranges::fill(mask, std::uint8_t{1});
  trajectories.reserve(static_cast<std::size_t>(capacity));
  episodes.reserve(static_cast<std::size_t>(capacity) *
                   static_cast<std::size_t>(layout.max_episodes));
}

bool TrainingBatch::CopyObservations(const TrajectoryView& view, std::size_t row) {
  const bool large = observation.size() * sizeof(float) >= kBeyondCacheBytes;
  const CopyKind kind = large ? CopyKind::kPastCache : CopyKind::kOrdinary;
  // Observations that are not plain are checked first; then words are copied, whatever they hold.
  const bool plain = layout.observation.plain();
  if (!plain && !CheckObservations(view, layout).ok()) return false;
  float* to = observation.data() + row * layout.row_words();
  return CopyFinite(to, NumbersOf(view.observation), kind) || !plain;
}

void TrainingBatch::CopyMask(const TrajectoryView& view, std::size_t row) {
  const std::size_t width = static_cast<std::size_t>(layout.action.mask_bytes());
  if (!view.mask.empty()) {
    CopyTo(mask.data() + row * width, view.mask);
    masked = true;
  } else {
    std::fill_n(mask.data() + row * width, view.steps * width, std::uint8_t{1});
  }
}

bool TrainingBatch::Add(const TrajectoryView& view) {
  MURMURATE_CHECK(!full(), "a full batch takes no more trajectories");
  const std::size_t slot = trajectories.size();
  const std::size_t row = slot * static_cast<std::size_t>(length);
  const std::size_t width = layout.row_words();
  if (!CopyObservations(view, row)) return false;
  CopyTo(action.data() + row * layout.action.words(), view.action);
  CopyTo(log_prob.data() + row, view.log_prob);
  CopyTo(reward.data() + row, view.reward);
  CopyTo(flags.data() + row, view.flags);
  CopyMask(view, row);
  CopyTo(state0.data() + slot * layout.state_floats, view.state0);
  CopyRows(frames0.data() + slot * layout.frames * width, view.frames0);
  CopyRows(next_observation.data() + slot * width, view.next_observation);
  CopyRows(final_observation.data() + final_row.size() * width, view.final_observation);
  for (int step = 0; step < view.steps; ++step) {
    if ((view.flags[step] & kTruncatedFlag) != 0) {
      final_row = {final_row.data(), final_row.size() + 1};
      final_row.back() = static_cast<std::int32_t>(row) + step;
    }
  }
  std::fill_n(weight.data() + row, view.steps, 1.0f);
  std::fill_n(weight.data() + row + view.steps, length - view.steps, 0.0f);
  std::fill_n(flags.data() + row + view.steps, length - view.steps, std::uint8_t{0});
  trajectories.push_back({view.agent, view.sender, view.first_step, view.version, view.changes,
                          view.steps, static_cast<std::uint32_t>(episodes.size()),
                          static_cast<std::uint32_t>(view.episodes.size())});
  AddEpisodes(view.episodes);
  return true;
}

void TrainingBatch::AddEpisodes(std::span<const EpisodeRecord> finished) {
  episodes.insert(episodes.end(), finished.begin(), finished.end());
}

TrajectoryView TrainingBatch::View(int slot) const {
  const BatchTrajectory& trajectory = trajectories[slot];
  const std::size_t i = static_cast<std::size_t>(slot);
  const std::size_t row = i * static_cast<std::size_t>(length);
  const std::size_t steps = static_cast<std::size_t>(trajectory.steps);
  const std::size_t words = static_cast<std::size_t>(layout.action.words());
  const std::size_t masks = static_cast<std::size_t>(layout.action.mask_bytes());
  const std::size_t states = static_cast<std::size_t>(layout.state_floats);
  const std::size_t frames = static_cast<std::size_t>(layout.frames);
  const std::size_t bytes = layout.row_bytes();
  const auto first = std::lower_bound(final_row.begin(), final_row.end(), slot * length);
  const auto last = std::lower_bound(first, final_row.end(), (slot + 1) * length);
  TrajectoryView view;
  view.agent = trajectory.agent;
  view.sender = trajectory.sender;
  view.first_step = trajectory.first_step;
  view.version = trajectory.version;
  view.changes = trajectory.changes;
  view.steps = trajectory.steps;
  view.observation = {ObservationRow(row), steps * bytes};
  view.action = {action.data() + row * words, steps * words};
  view.log_prob = {log_prob.data() + row, steps};
  view.reward = {reward.data() + row, steps};
  view.flags = {flags.data() + row, steps};
  if (masked) view.mask = {mask.data() + row * masks, steps * masks};
  view.state0 = {state0.data() + i * states, states};
  view.frames0 = {RowIn(frames0, i * frames), frames * bytes};
  view.next_observation = {NextRow(i), bytes};
  view.final_observation = {FinalRow(static_cast<std::size_t>(first - final_row.begin())),
                            static_cast<std::size_t>(last - first) * bytes};
  view.episodes = std::span(episodes).subspan(trajectory.first_episode, trajectory.episode_count);
  return view;
}

void TrainingBatch::History(int row, std::span<const std::byte*> history) const {
  const int slot = row / length, first_row = slot * length;
  history[0] = ObservationRow(static_cast<std::size_t>(row));
  bool begun = true;
  for (int age = 1; age < static_cast<int>(history.size()); ++age) {
    const int earlier = row - age;
    if (earlier + 1 >= first_row) begun &= (flags[earlier + 1] & kFirst) == 0;
    history[age] = nullptr;
    if (!begun) continue;
    // frames0 holds zeros itself where the episode had not begun.
    history[age] = earlier >= first_row
                       ? ObservationRow(static_cast<std::size_t>(earlier))
                       : RowIn(frames0, static_cast<std::size_t>((slot + 1) * layout.frames +
                                                                 earlier - first_row));
  }
}

void TrainingBatch::Sort() {
  const auto in_order = [](const BatchTrajectory& a, const BatchTrajectory& b) {
    return std::pair(a.agent, a.first_step) < std::pair(b.agent, b.first_step);
  };
  if (std::is_sorted(trajectories.begin(), trajectories.end(), in_order)) return;

  std::vector<int> order(trajectories.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return in_order(trajectories[a], trajectories[b]); });
  TrainingBatch sorted(layout, capacity, block_.memory());
  for (const int slot : order) sorted.Add(View(slot));
  AddLooseEpisodes(*this, &sorted);
  sorted.extra_slots = extra_slots;
  *this = std::move(sorted);
}

void AddLooseEpisodes(const TrainingBatch& from, TrainingBatch* to) {
  const std::span all(from.episodes);
  std::size_t loose = 0;
  for (const BatchTrajectory& trajectory : from.trajectories) {
    to->AddEpisodes(all.subspan(loose, trajectory.first_episode - loose));
    loose = trajectory.first_episode + trajectory.episode_count;
  }
  to->AddEpisodes(all.subspan(loose));
}

void TrainingBatch::Clear() {
  trajectories.clear();
  extra_slots = 0;
  final_row = final_row.first(0);
  episodes.clear();
  masked = false;
  samples = Samples::kNew;
  kept = nullptr;
  learned = false;
  std::fill(weight.begin(), weight.end(), 0.0f);
}

}  // namespace murmurate
