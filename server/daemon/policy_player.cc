#include "server/daemon/policy_player.h"

#include "client/agent_core.h"
#include "client/internals.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

/// Of the actions that are drawn, added to the seed of the episodes; kEvaluationSeed has its own.
constexpr std::uint64_t kActionSeed = 0x616374696f6e7321;

}  // namespace

Result<std::unique_ptr<PolicyPlayer>> PolicyPlayer::Open(const std::string& policy,
                                                         Environment* environment,
                                                         const Options& options) {
  auto client = Client::Open({.policy = PolicySource::FromMemory(policy),
                              .deterministic = options.play == ScoredPlay::kDeterministic});
  if (!client.ok()) return client.status();
  std::unique_ptr<PolicyPlayer> player(new PolicyPlayer(*std::move(client), environment, options));
  const Spaces& spaces = environment->spaces();
  player->agent_ =
      player->client_->NewAgent({.observation = spaces.observation, .action = spaces.action});
  if (!player->agent_.valid()) return player->client_->last_error();
  player->agent_.Mode(options.play == ScoredPlay::kSampled ? PlayMode::kTrain : PlayMode::kSilent);
  return player;
}

void PolicyPlayer::Begin(std::uint64_t episode) {
  environment_->Reset(DeriveSeed(options_.seed, episode));
  const std::uint64_t of_actions = kActionSeed + (options_.seed - kEvaluationSeed);
  Internals::Of(agent_).action().Reseed(DeriveSeed(of_actions, episode));
}

StepOutcome PolicyPlayer::Step() {
  agent_.Act(environment_->observation(), &action_);
  const StepOutcome outcome = environment_->Step(action_);
  if (outcome.terminated || outcome.truncated)
    agent_.End(outcome.terminated ? kTerminated : kTruncated, environment_->observation());
  return outcome;
}

Status PolicyPlayer::status() const {
  const std::uint64_t lost = client_->Stats().steps_given_up;
  if (lost == 0) return {};
  return InvalidData("the weights gave outputs that are not finite at " + std::to_string(lost) +
                     " steps, which were then played at random: there is nothing to score; take "
                     "an earlier checkpoint, or train again with a lower "
                     "optimizer.learning_rate or model.normalize_observation = true");
}

}  // namespace murmurate
