// PolicyPlayer: weights play a built-in game on a client without a learner, as a shipped game would.
#pragma once

#include <cstdint>
#include <memory>

#include "client/environments/environment.h"
#include "murmurate/client.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// How actions are taken from the policy's distribution.
enum class ScoredPlay : std::uint8_t {
  kGreedy,         ///< its mode
  kSampled,        ///< drawn from it, by seeds of the episode's own
  kDeterministic,  ///< its mode, computed with the same bits on every x86-64 machine; slower
};

class PolicyPlayer {
 public:
  /// Without a seed, episode i of every caller is the same one, far from all that training plays;
  /// with one, of another series.
  struct Options {
    ScoredPlay play = ScoredPlay::kGreedy;
    std::uint64_t seed = kEvaluationSeed;
  };
  /// Far from every seed that training derives from run.seed.
  static constexpr std::uint64_t kEvaluationSeed = 0x6576616c75617465;

  /// `policy`: FormatWeightsFile's bytes, published parts are enough. `environment` has the spaces
  /// of the policy and outlives the player.
  static Result<std::unique_ptr<PolicyPlayer>> Open(const std::string& policy,
                                                    Environment* environment,
                                                    const Options& options);

  void Begin(std::uint64_t episode);
  /// Takes the next step of the episode; after its last one, Begin.
  StepOutcome Step();
  const Action& action() const { return action_; }  ///< of the last step
  /// kInvalidData when the policy's outputs were not finite at a step, which was played at random.
  Status status() const;

 private:
  PolicyPlayer(std::unique_ptr<Client> client, Environment* environment, const Options& options)
      : client_(std::move(client)), environment_(environment), options_(options) {}

  const std::unique_ptr<Client> client_;
  Environment* const environment_;
  const Options options_;
  Agent agent_;
  Action action_;
};

}  // namespace murmurate
