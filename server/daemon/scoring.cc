#include "server/daemon/scoring.h"

#include "shared/core/check.h"
#include "shared/core/thread_team.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kStepsBetweenQuestions = 16;

/// False when it was stopped.
bool PlayEpisode(PolicyPlayer* player, std::uint64_t episode, EpisodeRecord* record,
                 const std::function<bool()>& stop) {
  player->Begin(episode);
  StepOutcome outcome;
  while (!outcome.terminated && !outcome.truncated) {
    if (record->length % kStepsBetweenQuestions == 0 && stop && stop()) return false;
    outcome = player->Step();
    record->raw_return += outcome.reward;
    ++record->length;
  }
  if (outcome.success) record->success = *outcome.success ? kSuccess : kFailure;
  return true;
}

/// Every `stride`-th episode, from `first` on, into its place.
Status PlayShare(const std::string& policy, ScoredPlay play, Environment* environment,
                 std::size_t first, std::size_t stride, EpisodeList* episodes,
                 const std::function<bool()>& stop) {
  const auto player = PolicyPlayer::Open(policy, environment, {.play = play});
  if (!player.ok()) return player.status();
  for (std::size_t i = first; i < episodes->size(); i += stride)
    if (!PlayEpisode(player->get(), i, &(*episodes)[i], stop))
      return Unavailable("the evaluation was stopped");
  return (*player)->status();
}

}  // namespace

Result<EpisodeList> PlayEpisodes(const WeightsFile& weights, ScoredPlay play,
                                 std::span<const std::unique_ptr<Environment>> environments,
                                 int episodes, const std::function<bool()>& stop) {
  const std::string policy = FormatWeightsFile(weights, /*published_only=*/true);
  EpisodeList played(static_cast<std::size_t>(episodes), EpisodeRecord{.mode = 1});
  std::vector<Status> statuses(environments.size());
  ThreadTeam team("mmr-evaluate", static_cast<int>(environments.size()));
  team.Run([&](int share) {
    const std::size_t i = static_cast<std::size_t>(share);
    statuses[i] =
        PlayShare(policy, play, environments[i].get(), i, environments.size(), &played, stop);
  });
  for (const Status& status : statuses) MURMURATE_RETURN_IF_ERROR(status);
  return played;
}

}  // namespace murmurate
