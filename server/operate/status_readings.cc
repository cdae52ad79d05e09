#include "server/operate/status_readings.h"

#include "server/metrics/actor_metrics.h"

namespace murmurate {
namespace {

Reading LearnerReading(const StatusReport& report) {
  const ActorsView& actors = report.actors;
  Reading reading("learner");
  reading.Set(kLearnerUptime, report.uptime_s);
  reading.Set(kLearnerMessages, actors.messages);
  reading.Set(kLearnerBytes, actors.bytes);
  reading.Set(kLearnerDuplicates, actors.duplicates);
  reading.Set(kLearnerLost, actors.lost_trajectories);
  reading.Set(kLearnerRefusedActors, actors.refused.size());
  reading.Set(kLearnerWaits, actors.waiting.size());
  reading.Set(kLearnerTroubles, actors.troubles.size());
  for (int i = 1; i < wire::kRefusalCount; ++i)
    reading.Add(kLearnerRefusals, wire::RefusalName(static_cast<wire::Refusal>(i)),
                actors.refusals[static_cast<std::size_t>(i)]);
  return reading;
}

}  // namespace

std::vector<Reading> StatusReadings(const StatusReport& report) {
  std::vector<Reading> readings{LearnerReading(report)};
  readings.insert(readings.end(), report.models.begin(), report.models.end());
  readings.insert(readings.end(), report.streams.begin(), report.streams.end());
  readings.insert(readings.end(), report.hooks.begin(), report.hooks.end());
  for (Reading& actor : ActorReadings(report.actors.counted()))
    readings.push_back(std::move(actor));
  return readings;
}

}  // namespace murmurate
