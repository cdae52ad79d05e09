#include "server/measure/acting.h"

#include <utility>

#include "server/measure/bench_address.h"
#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr int kObservations = 4, kUnits = 64, kActions = 2;
constexpr int kRows = 1024, kEpisode = 200;

}  // namespace

Result<std::unique_ptr<Acting>> Acting::Make() {
  const auto address = BenchAddress("bench-act");
  if (!address.ok()) return address.status();
  LiveLearner::Options options;
  options.address = *address;
  options.spec.spaces = {Box({kObservations}), Discrete(kActions)};
  options.spec.trunk = {{kUnits, Activation::kTanh}, {kUnits, Activation::kTanh}};
  auto learner = LiveLearner::Make(options);
  if (!learner.ok()) return learner.status();
  auto client =
      Client::Connect(options.address, {.name = "bench", .without_policy = WithoutPolicy::kWait});
  if (!client.ok()) return client.status();
  return std::unique_ptr<Acting>(
      new Acting(*std::move(learner), *std::move(client), options.spec.spaces));
}

Acting::Acting(std::unique_ptr<LiveLearner> learner, std::unique_ptr<Client> client,
               const Spaces& spaces)
    : learner_(std::move(learner)),
      client_(std::move(client)),
      agent_(client_->NewAgent({.observation = spaces.observation, .action = spaces.action})),
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
