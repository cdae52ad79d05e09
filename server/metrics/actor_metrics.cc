#include "server/metrics/actor_metrics.h"

#include <algorithm>
#include <unordered_map>

namespace murmurate {
namespace {

using Health = ActorReport::Health;

/// What the actors of one name come to.
struct ActorSum {
  std::string name;
  int live = 0, stalled = 0, agents = 0;
  std::int64_t silent_ns = INT64_MAX;
  std::uint64_t steps = 0, dropped = 0, trajectories = 0, refused = 0, waited_ns = 0, played_ns = 0;
  Histogram staleness = StalenessHistogram().ToHistogram();

  void Add(const ActorReport& actor) {
    live += actor.health != Health::kGone ? 1 : 0;
    stalled += actor.health == Health::kStalled ? 1 : 0;
    agents += actor.health != Health::kGone ? actor.agents : 0;
    silent_ns = std::min(silent_ns, actor.silent_ns);
    steps += actor.steps;
    dropped += actor.dropped_steps;
    trajectories += actor.trajectories;
    refused += actor.refused;
    waited_ns += actor.waited_ns;
    played_ns += actor.played_ns;
    staleness.Add(actor.staleness.ToHistogram());
  }

  Reading ToReading() const {
    Reading reading("actor", name);
    reading.Set(kActorLive, live);
    reading.Set(kActorStalled, stalled);
    reading.Set(kActorAgents, agents);
    if (silent_ns < INT64_MAX) reading.Set(kActorSilent, static_cast<double>(silent_ns) * 1e-9);
    reading.Set(kActorSteps, steps);
    reading.Set(kActorDropped, dropped);
    reading.Set(kActorTrajectories, trajectories);
    reading.Set(kActorRefused, refused);
    reading.Set(kActorWaited, static_cast<double>(waited_ns) * 1e-9);
    reading.Set(kActorPlayed, static_cast<double>(played_ns) * 1e-9);
    reading.Set(kActorStaleness, staleness);
    return reading;
  }
};

/// In the order of their first actors.
std::vector<ActorSum> SumsOf(std::span<const ActorReport> actors) {
  std::vector<ActorSum> sums;
  std::unordered_map<std::string, std::size_t> places;
  for (const ActorReport& actor : actors) {
    const auto [place, added] = places.try_emplace(actor.name, sums.size());
    if (added) sums.push_back({.name = actor.name});
    sums[place->second].Add(actor);
  }
  return sums;
}

}  // namespace

std::vector<Reading> ActorReadings(std::span<const ActorReport> actors) {
  std::vector<Reading> readings;
  for (const ActorSum& sum : SumsOf(actors)) readings.push_back(sum.ToReading());
  return readings;
}

std::vector<MetricSample> StalenessSamples(std::span<const ActorReport> actors) {
  const std::vector<ActorSum> sums = SumsOf(actors);
  if (sums.empty()) return {};
  Histogram all = sums.front().staleness;
  for (std::size_t i = 1; i < sums.size(); ++i) all.Add(sums[i].staleness);
  std::vector<MetricSample> samples{{&kActorStaleness, std::move(all), ""}};
  for (const ActorSum& sum : sums) samples.push_back({&kActorStaleness, sum.staleness, sum.name});
  return samples;
}

}  // namespace murmurate
