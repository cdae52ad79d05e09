// What the C interface adds to a call of the C++ client: the same policy, played through both in
// turns. Both play a policy from memory: no learner, thread or socket disturbs them. The interface
// is linked in here, not loaded, so that both run the same copy of the kernels: where the two
// copies happen to lie would be worth up to 20 ns in either's favour.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "murmurate.h"
#include "murmurate/client.h"
#include "server/measure/limits.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

constexpr double kMostNs = 20;

WeightsFile SomePolicy(const Space& action) {
  WeightsFile file;
  file.spec = PolicyAndValue{.spaces = {Box({4}), action},
                             .trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}}};
  file.parameters = AlignedFloats(ParameterLayout(file.spec).total);
  InitializeParameters(file.spec, 1, file.parameters);
  return file;
}

struct Both {
  explicit Both(const Space& action, const mmr_space& c_action)
      : bytes(FormatWeightsFile(SomePolicy(action), true)),
        client(*Client::Open({.policy = PolicySource::FromMemory(bytes)})),
        agent(client->NewAgent({.observation = Box({4}), .action = action})) {
    mmr_client_options options{};
    options.size = sizeof options;
    options.policy_bytes = bytes.data();
    options.policy_size = bytes.size();
    c_client = mmr_open(&options);
    c_agent = mmr_new_agent(c_client, mmr_box(4), c_action);
    if (!agent.valid() || c_agent == nullptr) std::abort();
  }
  ~Both() { mmr_agent_close(c_agent), mmr_close(c_client); }
  const std::string bytes;
  std::unique_ptr<Client> client;
  Agent agent;
  mmr_client* c_client;
  mmr_agent* c_agent;
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls of both, given a pair of agents, in turns so short that whatever slows the machine slows
/// both; the median difference counts. Where an agent's memory lies is chance: several pairs.
template <typename Ours, typename Limit>
void Compare(const std::string& name, const Space& action, const mmr_space& c_action, Ours ours,
             Limit limit) {
  std::vector<std::unique_ptr<Both>> pairs;  // kept: the next pair lies elsewhere
  std::vector<double> cpp, more;
  for (int i = 0; i < 16; ++i) {
    Both& both = *pairs.emplace_back(std::make_unique<Both>(action, c_action));
    for (int turn = 0; turn < 25; ++turn) {
      cpp.push_back(SecondsPerCall([&] { limit(both.agent); }, 1));
      more.push_back(SecondsPerCall([&] { ours(both.c_agent); }, 1) - cpp.back());
    }
  }
  const double limit_ns = Median(cpp) * 1e9;
  Print({.name = name + " (limit: the C++ call)",
         .unit = "ns",
         .ours = limit_ns + Median(more) * 1e9,
         .limit = limit_ns,
         .target = limit_ns + kMostNs,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

int Main() {
  const std::vector<float> see{0.1f, -0.2f, 0.3f, -0.4f};
  const std::uint8_t allowed[2] = {1, 1};
  float out[2];
  Compare(
      "mmr_act 4-64-64-2", Discrete(2), mmr_discrete(2),
      [&](mmr_agent* agent) { (void)mmr_act(agent, see.data(), 4); },
      [&](Agent& agent) { (void)agent.Act(see); });
  Compare(
      "mmr_act_masked", Discrete(2), mmr_discrete(2),
      [&](mmr_agent* agent) { (void)mmr_act_masked(agent, see.data(), 4, allowed, 2); },
      [&](Agent& agent) { (void)agent.Act(see, allowed); });
  Compare(
      "mmr_act_continuous", Box({2}), mmr_box(2),
      [&](mmr_agent* agent) { (void)mmr_act_continuous(agent, see.data(), 4, out, 2); },
      [&](Agent& agent) { agent.ActContinuous(see, out); });
  Compare(
      "mmr_reward", Discrete(2), mmr_discrete(2),
      [&](mmr_agent* agent) { (void)mmr_reward(agent, 1); },
      [&](Agent& agent) { agent.Reward(1); });
  const mmr_input input{sizeof input, MMR_FLOAT32, nullptr, see.data(), 4};
  mmr_observation observation{};
  observation.size = sizeof observation;
  observation.inputs = &input;
  observation.input_count = 1;
  mmr_action action{};
  action.size = sizeof action;
  action.numbers = out;
  action.number_count = 2;
  Action any;
  Compare(
      "mmr_act_any", Box({2}), mmr_box(2),
      [&](mmr_agent* agent) { (void)mmr_act_any(agent, &observation, &action); },
      [&](Agent& agent) { agent.Act(see, &any); });
  return 0;
}

}  // namespace
}  // namespace murmurate

int main() { return murmurate::Main(); }
