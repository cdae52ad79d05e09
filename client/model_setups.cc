#include "client/model_setups.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr std::size_t kMostRingBytes = std::size_t{1} << 30;  // of one agent

Status CheckWelcome(const wire::HelloOkModel& welcome, const ModelSpec& spec,
                    const ClientModel& model, std::uint32_t max_message_bytes) {
  if (const auto difference = FirstDifference(model.spaces, spec.spaces); !difference.empty()) {
    return InvalidData("model " + model.name +
                       ": the learner's spec has other spaces: " + difference);
  }
  if (welcome.trajectory_length < 1 || welcome.trajectory_length > (1u << 20)) {
    return InvalidData("model " + model.name +
                       ": expected trajectories of 1 to 1048576 steps, got " +
                       std::to_string(welcome.trajectory_length));
  }
  const TrajectoryLayout layout(spec, static_cast<int>(welcome.trajectory_length));
  const std::size_t limit =
      std::min<std::size_t>(max_message_bytes, kMostRingBytes / TrajectoryRing::kBlocks);
  if (layout.block_bytes <= limit) return {};
  return InvalidData("model " + model.name + ": a trajectory of " +
                     std::to_string(layout.block_bytes) + " bytes, but a message has at most " +
                     std::to_string(limit) + "; use a smaller algorithm.trajectory_length");
}

}  // namespace

Result<std::vector<ModelSpec>> ModelSetups::ReadSpecs(const wire::HelloOk& hello_ok,
                                                      const std::vector<RegisteredModel>& models) {
  std::vector<ModelSpec> specs;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Result<ModelSpec> spec = ModelSpec::Parse(hello_ok.models[i].spec);
    if (!spec.ok()) return spec.status();
    MURMURATE_RETURN_IF_ERROR(
        CheckWelcome(hello_ok.models[i], *spec, *models[i].model, hello_ok.max_message_bytes));
    specs.push_back(std::move(*spec));
  }
  return specs;
}

bool ModelSetups::Follow(const wire::HelloOk& hello_ok,
                         const std::vector<RegisteredModel>& models) {
  if (std::exchange(incarnation_, hello_ok.incarnation) == hello_ok.incarnation) return false;
  for (const RegisteredModel& entry : models) {
    if (const auto policies = entry.model->weights.policies()) policies->ForgetVersion();
  }
  return true;
}

void ModelSetups::SetUp(const RegisteredModel& entry, std::size_t index, const ModelSpec& spec,
                        const wire::HelloOk& hello_ok) {
  const wire::HelloOkModel& welcome = hello_ok.models[index];
  ClientModel& model = *entry.model;
  auto policies = model.weights.policies();
  if (policies == nullptr || policies->spec() != spec) {
    policies = std::make_shared<PolicySet>(spec, model.pins);
    model.weights.SetPolicies(policies);
  }
  model.max_trajectory_ns.store(
      std::max(1u, welcome.max_trajectory_ms) * kNanosecondsPerMillisecond,
      std::memory_order_relaxed);
  model.changes_version.store(welcome.changes && model.pace != Pace::kLockstep,
                              std::memory_order_relaxed);
  // Lock-step asks for every step that is played.
  model.evaluation_share.store(model.pace == Pace::kLockstep ? 0.0 : welcome.evaluation_share,
                               std::memory_order_relaxed);
  setups_.resize(std::max(setups_.size(), index + 1));
  FitAgents(entry, welcome, index);
  model.wait.Progress();  // agents that wait have blocks now
  Setup& setup = setups_[index];
  if (setup.incarnation == incarnation_ && setup.spec_text == welcome.spec &&
      setup.segment == welcome.segment) {
    return;
  }
  if (setup.incarnation != incarnation_) policies->ForgetVersion();
  setup.incarnation = incarnation_;
  setup.spec_text = welcome.spec;
  setup.segment = welcome.segment;
  SubscribeWeights(entry, welcome, hello_ok, policies, setup);
}

/// Every agent's index; blocks and scratch memory for each that has none of this shape yet.
void ModelSetups::FitAgents(const RegisteredModel& entry, const wire::HelloOkModel& welcome,
                            std::size_t index) {
  const int length = static_cast<int>(welcome.trajectory_length);
  const auto shape = entry.model->weights.shape();
  const std::vector<std::uint32_t>& listed = introduced_[index].agents;  // ascending
  std::vector<std::pair<AgentCore*, std::size_t>> bare;                  // and its place in HELLO
  for (const auto& agent : entry.agents) {
    const auto found = std::lower_bound(listed.begin(), listed.end(), agent->shared().number());
    // Who came after this HELLO is in another, which is on its way.
    if (found == listed.end() || *found != agent->shared().number()) continue;
    const std::size_t place = static_cast<std::size_t>(found - listed.begin());
    if (place < welcome.agent_indices.size())
      agent->shared().SetIndex(welcome.agent_indices[place]);
    const AgentBuffers* current = agent->shared().buffers();
    if (current != nullptr && current->policies == shape->policies && current->ring != nullptr &&
        current->ring->layout().length == length) {
      continue;
    }
    bare.emplace_back(agent.get(), place);
  }
  if (bare.empty()) return;
  const std::shared_ptr<BlockPool>& pool = PoolFor(index, shape->policies->spec(), length);
  pool->Expect(static_cast<int>(bare.size()));
  for (const auto& [agent, place] : bare) {
    auto buffers = MakeAgentBuffers(shape, agent->shared().rows(), pool, agent->shared().buffers());
    buffers->reseed = !OnlyLengthDiffers(agent->shared().buffers(), *buffers) &&
                      place < welcome.agent_seeds.size();
    if (buffers->reseed) buffers->seed = welcome.agent_seeds[place];
    agent->shared().Fit(std::move(buffers));
  }
}

const std::shared_ptr<BlockPool>& ModelSetups::PoolFor(std::size_t index, const ModelSpec& spec,
                                                       int length) {
  std::shared_ptr<BlockPool>& pool = setups_[index].pool;
  if (pool == nullptr || pool->layout().length != length || pool->spec_hash() != spec.ShortHash()) {
    pool = std::make_shared<BlockPool>(TrajectoryLayout(spec, length), spec.ShortHash());
  }
  return pool;
}

void ModelSetups::SubscribeWeights(const RegisteredModel& entry, const wire::HelloOkModel& welcome,
                                   const wire::HelloOk& hello_ok,
                                   const std::shared_ptr<PolicySet>& policies, Setup& setup) {
  const ClientModel& model = *entry.model;
  if (setup.over_network) fetcher_.RemoveModel(model.name);
  setup.over_network = false;
  if (!welcome.segment.empty()) {
    auto opened = SharedMemorySubscriber::Open(welcome.segment, policies->spec(), incarnation_);
    if (opened.ok()) {
      return receiver_.Subscribe(entry.model, policies, std::move(*opened));
    }
    if (log_)
      log_(LogLevel::kInfo,
           "model " + model.name + ": weights come over the network: " + opened.status().message());
  }
  const std::string from = hello_ok.announce_address + " " + std::to_string(incarnation_);
  if (fetching_from_ != from) {
    const Status status =
        fetcher_.Connect(hello_ok.announce_address, hello_ok.weights_address, incarnation_);
    if (!status.ok() && log_) log_(LogLevel::kError, status.message());
    if (!status.ok()) return;
    fetching_from_ = from;
  }
  setup.over_network = true;
  receiver_.Subscribe(entry.model, policies, fetcher_.AddModel(model.name, policies->spec()));
  fetcher_.NoteVersion(model.name, welcome.version);
}

void ModelSetups::NoteVersions(const std::vector<RegisteredModel>& models,
                               const std::vector<wire::ModelCredit>& credit) {
  for (std::size_t i = 0; i < std::min({models.size(), credit.size(), setups_.size()}); ++i) {
    if (setups_[i].over_network) fetcher_.NoteVersion(models[i].model->name, credit[i].version);
  }
}

}  // namespace murmurate
