#include "server/measure/acting.h"

#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr int kObservations = 4, kUnits = 64, kActions = 2;
constexpr int kRows = 1024, kEpisode = 200;

}  // namespace

Result<std::unique_ptr<Acting>> Acting::Make() {
  const auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  LiveLearner::Options options;
  options.address = "ipc://" + *folder + "/bench-act";
  options.spec.spaces = {Box({kObservations}), Discrete(kActions)};
  options.spec.trunk = {{kUnits, Activation::kTanh}, {kUnits, Activation::kTanh}};
  return std::unique_ptr<Acting>(new Acting(std::move(options)));
}

Acting::Acting(LiveLearner::Options options)
    : learner_(options),
      client_(*Client::Connect(options.address,
                               {.name = "bench", .without_policy = WithoutPolicy::kWait})),
      agent_(client_->NewAgent(
          {.observation = options.spec.spaces.observation, .action = options.spec.spaces.action})),
      observations_(kObservations * kRows) {
  MURMURATE_CHECK(agent_.valid(), "the learner has the agent's spaces");
  Random random(3);
  for (float& x : observations_) x = static_cast<float>(random.Normal());
  for (int i = 0; i < 10 * kEpisode; ++i) Step();
}

void Acting::Step() {
  const auto row = static_cast<std::size_t>(step_ % kRows);
  agent_.Act({observations_.data() + kObservations * row, kObservations});
  agent_.Reward(1.0);
  if (++step_ % kEpisode == 0) agent_.End(kTerminated);
}

double Acting::flops() const { return 2.0 * kUnits * (kObservations + kUnits + kActions); }

}  // namespace murmurate
