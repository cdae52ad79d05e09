// ModelSetups: what the learner was told of a client's models (HELLO), and how they are set up as it
// answered: memory for the policies, blocks for the agents, where the weights come from. Setting up
// the same again changes nothing. mmr-client only; models are in the order of Hello::models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/agent_registry.h"
#include "client/weights_receiver.h"
#include "murmurate/log.h"
#include "shared/weights/network_weights.h"

namespace murmurate {

class ModelSetups {
 public:
  /// `receiver` gets a subscription for each model; `fetcher` serves those that have no segment.
  ModelSetups(WeightsReceiver& receiver, NetworkWeightFetcher& fetcher, LogCallback log)
      : receiver_(receiver), fetcher_(fetcher), log_(std::move(log)) {}

  /// HELLO lists these.
  void Introduce(std::vector<wire::HelloModel> models) { introduced_ = std::move(models); }
  const std::vector<wire::HelloModel>& introduced() const { return introduced_; }
  /// The specs of HELLO_OK for `models`, or why one of them cannot be played.
  static Result<std::vector<ModelSpec>> ReadSpecs(const wire::HelloOk& hello_ok,
                                                  const std::vector<RegisteredModel>& models);
  /// This learner is followed from now on. True when it is another one than before: version numbers
  /// of the last one mean nothing any more, also to those who wait for one.
  bool Follow(const wire::HelloOk& hello_ok, const std::vector<RegisteredModel>& models);
  bool followed_any() const { return incarnation_ != 0; }  ///< a learner, ever
  /// Sets model `index` up as HELLO_OK says.
  void SetUp(const RegisteredModel& entry, std::size_t index, const ModelSpec& spec,
             const wire::HelloOk& hello_ok);
  /// The learner has published these versions.
  void NoteVersions(const std::vector<RegisteredModel>& models,
                    const std::vector<wire::ModelCredit>& credit);
  /// True when weights may come over the network.
  bool fetches() const { return !fetching_from_.empty(); }

 private:
  struct Setup {
    std::string spec_text, segment;
    std::uint64_t incarnation = 0;
    bool over_network = false;
    std::shared_ptr<BlockPool> pool;  ///< of the agents that come next
  };

  void FitAgents(const RegisteredModel& entry, const wire::HelloOkModel& welcome,
                 std::size_t index);
  const std::shared_ptr<BlockPool>& PoolFor(std::size_t index, const ModelSpec& spec, int length);
  void SubscribeWeights(const RegisteredModel& entry, const wire::HelloOkModel& welcome,
                        const wire::HelloOk& hello_ok, const std::shared_ptr<PolicySet>& policies,
                        Setup& setup);

  WeightsReceiver& receiver_;
  NetworkWeightFetcher& fetcher_;
  const LogCallback log_;
  std::vector<wire::HelloModel> introduced_;
  std::vector<Setup> setups_;
  std::uint64_t incarnation_ = 0;  ///< of the learner that is followed; 0: none yet
  std::string fetching_from_;
};

}  // namespace murmurate
