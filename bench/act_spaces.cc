// What Act costs beyond the network where observations have parts, frames are stacked and state is
// carried: a whole Act of an agent with no learner, against the same policy's pass alone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "murmurate/client.h"
#include "server/measure/limits.h"
#include "server/network/actor_critic.h"
#include "shared/inference/policy.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/weights_file.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

constexpr int kActs = 64;  // in one call that is timed

ModelSpec SpecOf(const std::string& text, const std::string& continuous = "") {
  auto spec = ModelSpec::Parse("murmurate-model 1\n" + text +
                               "separate_value 0\nnormalize_observation 0\n" + continuous);
  if (spec.ok()) return *spec;
  std::fprintf(stderr, "%s\n", spec.status().message().c_str());
  std::exit(70);
}

/// An agent that plays `spec` from memory.
struct Player {
  explicit Player(const ModelSpec& spec) {
    WeightsFile file{.spec = spec, .parameters = AlignedFloats(ParameterLayout(spec).total)};
    InitializeParameters(spec, 1, file.parameters);
    auto opened = Client::Open({.policy = PolicySource::FromMemory(FormatWeightsFile(file, true))});
    if (!opened.ok())
      std::fprintf(stderr, "%s\n", opened.status().message().c_str()), std::exit(70);
    client = *std::move(opened);
    agent =
        client->NewAgent({.observation = spec.spaces.observation, .action = spec.spaces.action});
  }
  std::unique_ptr<Client> client;
  Agent agent;
};

void Measure(const std::string& name, const ModelSpec& spec, const Observation& observation,
             double target) {
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 1, parameters);
  Policy policy(spec);
  policy.Pack({parameters.data(), layout.published.count}, {});
  AlignedFloats row(ObservationLayout(StackedObservation(spec)).row_bytes() / sizeof(float));
  if (ObservationLayout(spec.spaces.observation).inputs()[0].name.empty()) {
    std::memset(row.data(), 128, row.size() * sizeof(float));  // the frame that is played
  }
  std::vector<float> outputs(static_cast<std::size_t>(policy.outputs()));
  AlignedFloats scratch(policy.ScratchFloats(1));
  AlignedFloats state(static_cast<std::size_t>(policy.state_floats()));
  Player player(spec);
  Action action;
  player.agent.Act(observation, &action);
  const std::uint64_t before = Allocations() + Frees();
  for (int i = 0; i < kActs; ++i) player.agent.Act(observation, &action);
  const std::uint64_t allocated = Allocations() + Frees() - before;
  double act = 1e9, pass = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    act = std::min(act, SecondsPerCall([&] {
                          for (int i = 0; i < kActs; ++i) player.agent.Act(observation, &action);
                        }) / kActs);
    pass = std::min(pass, SecondsPerCall([&] {
                            for (int i = 0; i < kActs; ++i) {
                              policy.Forward(row.data(), 1, outputs.data(), scratch.data(),
                                             state.data());
                            }
                          }) / kActs);
  }
  Print({.name = "Act, " + name + " (limit: the policy's pass alone)",
         .unit = "us",
         .ours = act * 1e6,
         .limit = pass * 1e6,
         .target = target,
         .smaller_is_better = true});
  Print({.name = "allocations and frees in 64 of them",
         .unit = "",
         .ours = static_cast<double>(allocated),
         .target_is_ratio = false,
         .smaller_is_better = true});
}

void MeasureAll() {
  const std::vector<std::uint8_t> frame(84 * 84, 128);
  Measure("84x84 frames stacked 4, Nature-CNN",
          SpecOf("observation uint8 84 84 1\naction discrete 6\ninput - stack 4\n"
                 "conv 32 8 4 0 relu\nconv 64 4 2 0 relu\nconv 64 3 1 0 relu\nflatten\ntrunk\n"
                 "dense 512 relu\n"),
          Observation(frame), 1.1);
  const std::vector<std::uint8_t> map(7 * 7 * 3, 200);
  const std::vector<float> place = {0.1f, -0.4f};
  const std::vector<std::int32_t> kind = {2};
  const std::vector<std::uint8_t> mask = {1, 0, 1, 1};
  Measure("a 7x7 map, a place and a kind, masks, GRU of 64",
          SpecOf("observation.map uint8 7 7 3\nobservation.place float32 2\n"
                 "observation.kind categories 4\naction.move discrete 4\n"
                 "action.turn continuous 1 low -1 high 1\n"
                 "input map stack 1\nconv 16 3 1 1 relu\nflatten\ntrunk\ndense 64 relu\ngru 64\n",
                 "state_dependent_deviation 0\nsquashed 0\n"),
          Observation{{"map", map}, {"place", place}, {"kind", kind}}.Mask(mask), 1.25);
}

}  // namespace
}  // namespace murmurate

int main() { murmurate::MeasureAll(); }
