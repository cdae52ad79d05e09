#include "shared/experience/training_batch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "shared/core/check.h"
#include "shared/experience/finite.h"

namespace murmurate {
namespace {

template <typename T>
void CopyTo(T* destination, std::span<const T> source) {
  if (!source.empty()) std::memcpy(destination, source.data(), source.size_bytes());
}

/// A column this large has left the cache by the time it is learned from.
constexpr std::size_t kBeyondCacheBytes = 512u << 10;

}  // namespace

TrainingBatch::TrainingBatch(const TrajectoryLayout& layout, int trajectory_count)
    : capacity(trajectory_count),
      length(layout.length),
      observation_count(layout.observation_count),
      observation(static_cast<std::size_t>(rows()) * observation_count),
      action(rows()),
      log_prob(rows()),
      reward(rows()),
      flags(rows()),
      weight(rows()),
      next_observation(static_cast<std::size_t>(capacity) * observation_count),
      final_observation(static_cast<std::size_t>(capacity) * layout.max_finals *
                        observation_count) {
  MURMURATE_CHECK(capacity >= 1, "a batch holds at least one trajectory");
  trajectories.reserve(capacity);
  final_row.reserve(static_cast<std::size_t>(capacity) * layout.max_finals);
  episodes.reserve(static_cast<std::size_t>(capacity) * layout.max_episodes);
}

TrainingBatch::TrainingBatch(const TrainingBatch& like, EmptyLike)
    : capacity(like.capacity),
      length(like.length),
      observation_count(like.observation_count),
      observation(like.observation.size()),
      action(like.action.size()),
      log_prob(like.log_prob.size()),
      reward(like.reward.size()),
      flags(like.flags.size()),
      weight(like.weight.size()),
      next_observation(like.next_observation.size()),
      final_observation(like.final_observation.size()) {
  trajectories.reserve(like.trajectories.capacity());
  final_row.reserve(like.final_row.capacity());
  episodes.reserve(like.episodes.capacity());
}

bool TrainingBatch::Add(const TrajectoryView& view) {
  MURMURATE_CHECK(!full(), "a full batch takes no more trajectories");
  const std::size_t place = trajectories.size();
  const std::size_t row = place * static_cast<std::size_t>(length);
  const std::size_t width = static_cast<std::size_t>(observation_count);
  const bool large = observation.size() * sizeof(float) >= kBeyondCacheBytes;
  const CopyKind kind = large ? CopyKind::kPastCache : CopyKind::kOrdinary;
  if (!CopyFinite(observation.data() + row * width, view.observation, kind)) return false;
  CopyTo(action.data() + row, view.action);
  CopyTo(log_prob.data() + row, view.log_prob);
  CopyTo(reward.data() + row, view.reward);
  CopyTo(flags.data() + row, view.flags);
  CopyTo(next_observation.data() + place * width, view.next_observation);
  CopyTo(final_observation.data() + final_row.size() * width, view.final_observation);
  for (int step = 0; step < view.steps; ++step) {
    if ((view.flags[step] & kTruncatedFlag) != 0) {
      final_row.push_back(static_cast<std::int32_t>(row) + step);
    }
  }
  std::fill_n(weight.data() + row, view.steps, 1.0f);
  std::fill_n(weight.data() + row + view.steps, length - view.steps, 0.0f);
  std::fill_n(flags.data() + row + view.steps, length - view.steps, std::uint8_t{0});
  trajectories.push_back({view.agent, view.first_step, view.version, view.steps,
                          static_cast<std::uint32_t>(episodes.size()),
                          static_cast<std::uint32_t>(view.episodes.size())});
  AddEpisodes(view.episodes);
  return true;
}

void TrainingBatch::AddEpisodes(std::span<const EpisodeRecord> finished) {
  episodes.insert(episodes.end(), finished.begin(), finished.end());
}

TrajectoryView TrainingBatch::View(int place) const {
  const BatchTrajectory& trajectory = trajectories[place];
  const std::size_t width = static_cast<std::size_t>(observation_count);
  const std::size_t row = static_cast<std::size_t>(place) * static_cast<std::size_t>(length);
  const std::size_t steps = static_cast<std::size_t>(trajectory.steps);
  const auto first = std::lower_bound(final_row.begin(), final_row.end(), place * length);
  const auto last = std::lower_bound(first, final_row.end(), (place + 1) * length);
  TrajectoryView view;
  view.agent = trajectory.agent;
  view.first_step = trajectory.first_step;
  view.version = trajectory.version;
  view.steps = trajectory.steps;
  view.observation = {observation.data() + row * width, steps * width};
  view.action = {action.data() + row, steps};
  view.log_prob = {log_prob.data() + row, steps};
  view.reward = {reward.data() + row, steps};
  view.flags = {flags.data() + row, steps};
  view.next_observation = {next_observation.data() + static_cast<std::size_t>(place) * width,
                           width};
  view.final_observation = {final_observation.data() + (first - final_row.begin()) * width,
                            static_cast<std::size_t>(last - first) * width};
  view.episodes = std::span(episodes).subspan(trajectory.first_episode, trajectory.episode_count);
  return view;
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
  TrainingBatch sorted(*this, kEmptyLike);
  for (const int place : order) sorted.Add(View(place));
  std::size_t loose = 0;  // episodes that belong to no trajectory stay last
  for (const BatchTrajectory& trajectory : trajectories) {
    sorted.AddEpisodes(std::span(episodes).subspan(loose, trajectory.first_episode - loose));
    loose = trajectory.first_episode + trajectory.episode_count;
  }
  sorted.AddEpisodes(std::span(episodes).subspan(loose));
  *this = std::move(sorted);
}

void TrainingBatch::Clear() {
  trajectories.clear();
  final_row.clear();
  episodes.clear();
  std::fill(weight.begin(), weight.end(), 0.0f);
}

}  // namespace murmurate
