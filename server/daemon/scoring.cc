#include "server/daemon/scoring.h"

#include "client/agent_core.h"
#include "client/internals.h"
#include "murmurate/client.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/core/thread_team.h"

namespace murmurate {
namespace {

/// Far from every seed that training derives from run.seed.
constexpr std::uint64_t kEvaluationSeed = 0x6576616c75617465;
/// Of the actions that are drawn.
constexpr std::uint64_t kActionSeed = 0x616374696f6e7321;
constexpr std::uint32_t kStepsBetweenQuestions = 16;

/// False when it was stopped.
bool PlayEpisode(Environment* environment, Agent* agent, Action* action, EpisodeRecord* record,
                 const std::function<bool()>& stop) {
  StepOutcome outcome;
  while (!outcome.terminated && !outcome.truncated) {
    if (record->length % kStepsBetweenQuestions == 0 && stop && stop()) return false;
    agent->Act(environment->observation(), action);
    outcome = environment->Step(*action);
    record->raw_return += outcome.reward;
    ++record->length;
  }
  if (outcome.success) record->success = *outcome.success ? kSuccess : kFailure;
  agent->End(outcome.terminated ? kTerminated : kTruncated, environment->observation());
  return true;
}

/// Every `stride`-th episode, from `first` on, into its place.
Status PlayShare(const std::string& policy, ScoredPlay play, Environment* environment,
                 std::size_t first, std::size_t stride, EpisodeList* episodes,
                 const std::function<bool()>& stop) {
  auto client = Client::Open({.policy = PolicySource::FromMemory(policy)});
  if (!client.ok()) return client.status();
  const Spaces& spaces = environment->spaces();
  Agent agent = (*client)->NewAgent({.observation = spaces.observation, .action = spaces.action});
  if (!agent.valid()) return (*client)->last_error();
  agent.Mode(play == ScoredPlay::kGreedy ? PlayMode::kSilent : PlayMode::kTrain);
  Action action;
  for (std::size_t i = first; i < episodes->size(); i += stride) {
    environment->Reset(DeriveSeed(kEvaluationSeed, i));
    Internals::Of(agent).action().Reseed(DeriveSeed(kActionSeed, i));
    if (!PlayEpisode(environment, &agent, &action, &(*episodes)[i], stop))
      return Unavailable("the evaluation was stopped");
  }
  if (const std::uint64_t lost = (*client)->Stats().steps_given_up; lost > 0)
    return InvalidData("the weights gave outputs that are not finite at " + std::to_string(lost) +
                       " steps, which were then played at random: there is nothing to score; take "
                       "an earlier checkpoint, or train again with a lower "
                       "optimizer.learning_rate or model.normalize_observation = true");
  return {};
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
